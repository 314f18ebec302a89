/**
 * Version of the shapes in `api.ts`, `errors.ts`, `item.ts` and `push.ts`. It rises when an agent and a Worker of
 * different versions would misunderstand each other; the Worker is deployed first. The hash is checked by a test, so
 * that no shape changes unnoticed.
 */
export const PROTOCOL = { version: 1, hash: '62c03c63f311c35c' } as const;
