import { RegistryError } from '../../schema/errors.ts';

/** Says that a request came through here already. */
export const THROUGH_HEADER = 'repertoire-gateway';

export function cameThrough(request: Request): boolean {
  return request.headers.has(THROUGH_HEADER);
}

/** A server that is served by a registry must not be served again: it would go round for ever. @throws RegistryError `invalid_input` */
export function refuseLoop(request: Request): void {
  if (!cameThrough(request)) return;
  throw new RegistryError(
    'invalid_input',
    'This server is called through another registry or through this one; add it under its own address.',
  );
}
