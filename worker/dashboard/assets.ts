import { Hono } from 'hono';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { AppEnv } from '../deps.ts';

/** Text of what pages load, by its name under `/assets`. */
export type Assets = Readonly<Record<string, string>>;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * `GET /assets/{name}`. A browser asks each time whether its copy is the current one, so that a page never runs with the
 * script of another deployment.
 */
export const assets = new Hono<AppEnv>();

assets.get('/:name', async (c) => {
  const name = c.req.param('name');
  const { assets: all } = c.var.deps;
  const text = Object.hasOwn(all, name) ? all[name] : undefined;
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (text === undefined || type === undefined)
    throw new RegistryError('not_found', 'There is no such file; load the page again.');
  const etag = `"${await tagOf(text)}"`;
  const headers = { etag, 'cache-control': 'no-cache' };
  if (c.req.header('if-none-match')?.includes(etag)) return c.body(null, 304, headers);
  return c.body(text, 200, { ...headers, 'content-type': type });
});

const tags = new Map<string, Promise<string>>();

function tagOf(text: string): Promise<string> {
  let tag = tags.get(text);
  if (!tag) {
    tag = sha256(text).then((digest) => digest.slice(0, 32));
    tags.set(text, tag);
  }
  return tag;
}
