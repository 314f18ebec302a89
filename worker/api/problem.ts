import { type ErrorCode, type ErrorDetails, type Problem, RegistryError } from '../../schema/errors.ts';
import { challenge } from '../auth/challenge.ts';
import { refusalOf } from '../log.ts';

const ANSWERS = {
  invalid_input: [400, 'Invalid input'],
  invalid_name: [400, 'Invalid name'],
  invalid_path: [400, 'Invalid path'],
  invalid_front_matter: [400, 'Invalid front matter'],
  path_collision: [400, 'Paths collide'],
  too_large: [413, 'Too large'],
  name_change: [409, 'Name would change'],
  name_taken: [409, 'Name taken'],
  ambiguous_name: [409, 'Ambiguous name'],
  not_found: [404, 'Not found'],
  conflict: [409, 'Conflict'],
  credential: [422, 'Credential found'],
  confirmation_required: [422, 'Confirmation required'],
  unauthorized: [401, 'Unauthorized'],
  insufficient_scope: [403, 'Insufficient scope'],
  passkey_required: [403, 'Passkey required'],
  registry_rewound: [409, 'Registry rewound'],
  authorization_pending: [400, 'Authorization pending'],
  slow_down: [400, 'Slow down'],
  access_denied: [403, 'Access denied'],
  expired_token: [400, 'Expired'],
  rate_limited: [429, 'Rate limited'],
  unavailable: [503, 'Unavailable'],
  internal: [500, 'Internal error'],
} as const satisfies Record<ErrorCode, readonly [status: number, title: string]>;

/**
 * Any error as an answer: RFC 9457 problem details, with the challenge of a 401 or 403. Only a `RegistryError` speaks
 * for itself; of every other one the caller gets a number, under which the log names its kind and place.
 */
export function problem(error: unknown, request: Request): Response {
  const refused = refusalOf(error);
  const { status, headers } = refusal(refused, request);
  return answer(refused, status, headers);
}

/** How HTTP says an error, whatever form its sentence comes in. */
export function refusal(error: RegistryError, request: Request) {
  const headers = new Headers();
  const authenticate = challenge(error, request);
  if (authenticate !== null) headers.set('www-authenticate', authenticate);
  const { retry_after_s: wait } = error.details;
  if (wait !== undefined) headers.set('retry-after', String(Math.ceil(wait)));
  return { status: ANSWERS[error.code][0], headers };
}

/** A path that is there, asked with a method that it does not have (RFC 9110 section 15.5.6). */
export function methodNotAllowed(method: string, allowed: readonly string[]): Response {
  const allow = allowed.join(', ');
  const error = new RegistryError('invalid_input', `This address takes ${allow}, not ${method}.`);
  return answer(error, 405, new Headers({ allow }));
}

function answer({ code, message, details }: RegistryError, status: number, headers: Headers): Response {
  const body: Problem = {
    type: `urn:repertoire:error:${code}`,
    title: ANSWERS[code][1],
    status,
    detail: message,
    code,
    ...(isEmpty(details) ? {} : { details }),
  };
  headers.set('content-type', 'application/problem+json');
  headers.set('cache-control', 'no-store');
  return new Response(JSON.stringify(body), { status, headers });
}

function isEmpty(details: ErrorDetails): boolean {
  return Object.keys(details).length === 0;
}
