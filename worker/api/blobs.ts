import { Hono } from 'hono';
import { RegistryError } from '../../schema/errors.ts';
import { Digest } from '../../schema/item.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { getBlob, putBlob } from '../registry/blobs.ts';
import { arrived } from '../size-limit.ts';
import { bytesAnswer } from './bytes.ts';

/** Content by its SHA-256, under `/blobs`. Each account sees its own alone, even where another has the same bytes. */
export const blobs = new Hono<AppEnv>();

/** → the bytes. Errors: `not_found`. Needs `skills:read`. */
blobs.get('/:digest', async (c) => {
  const digest = digestOf(c.req.param('digest'));
  const bytes = await getBlob(await callerOf(c), digest);
  return bytesAnswer(c.req.raw, { digest, bytes, name: digest });
});

/** The bytes, at most 1 MiB → 204. Errors: `too_large`, `invalid_input` for another digest. Needs `skills:write`. */
blobs.put('/:digest', async (c) => {
  const digest = digestOf(c.req.param('digest'));
  const ctx = await callerOf(c);
  await putBlob(ctx, digest, new Uint8Array(await arrived(c.req.arrayBuffer())));
  return c.body(null, 204);
});

function digestOf(text: string): string {
  if (Digest.safeParse(text).success) return text;
  throw new RegistryError(
    'not_found',
    'There is no such content; a digest is 64 lower-case hexadecimal digits.',
  );
}
