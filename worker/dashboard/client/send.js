import { checkPasskey } from './passkey.js';

/** What the registry refused, in its own sentence. */
export class Refusal extends Error {
  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Sends JSON to the registry and gives its answer; null where it has none.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 * @throws {Refusal}
 */
export async function send(method, path, body) {
  const response = await fetch(path, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  }).catch(() => null);
  if (!response)
    throw new Refusal('unavailable', 'The registry does not answer; check the connection and try again.');
  if (response.status === 204) return null;
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  throw new Refusal(answer?.code ?? 'internal', answer?.detail ?? 'The registry did not do it; try again.');
}

/**
 * As {@link send}, for what needs a passkey that was checked minutes ago: where the registry asks for it, the person is
 * asked, and it is sent again.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
export async function sendChecked(method, path, body) {
  try {
    return await send(method, path, body);
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'passkey_required')) throw error;
  }
  await checkPasskey();
  return send(method, path, body);
}
