import { expect, test } from 'vitest';
import { z } from 'zod';
import * as api from '../../schema/api.ts';
import { sha256 } from '../../schema/digest.ts';
import * as errors from '../../schema/errors.ts';
import * as item from '../../schema/item.ts';
import { PROTOCOL } from '../../schema/protocol.ts';
import * as push from '../../schema/push.ts';

/**
 * The wire is what deployed agents and scripts rely on. When this fails, the shapes changed: where old and new still
 * understand each other, put the new hash in; else raise `PROTOCOL.version` too, and deploy the Worker first.
 */
test('the wire shapes are those that this protocol version stands for', async () => {
  const shapes = [api, errors, item, push].flatMap((module) =>
    Object.entries(module).flatMap(([name, value]) =>
      value instanceof z.ZodType
        ? [[name, z.toJSONSchema(value, { io: 'input', unrepresentable: 'any' })]]
        : [],
    ),
  );
  const canonical = JSON.stringify(
    {
      shapes: shapes.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      limits: item.LIMITS,
      close: push.CLOSE,
    },
    null,
    1,
  );
  expect({ version: PROTOCOL.version, hash: (await sha256(canonical)).slice(0, 16) }).toEqual({
    version: 1,
    hash: PROTOCOL.hash,
  });
});
