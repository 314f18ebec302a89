import { Refusal, send } from './send.js';

/**
 * Has a passkey made and gives what the registry keeps of it.
 * @param {import('@simplewebauthn/browser').PublicKeyCredentialCreationOptionsJSON} optionsJSON
 */
export function makePasskey(optionsJSON) {
  return ceremony(() => SimpleWebAuthnBrowser.startRegistration({ optionsJSON }));
}

/**
 * Has a passkey prove itself.
 * @param {import('@simplewebauthn/browser').PublicKeyCredentialRequestOptionsJSON} optionsJSON
 */
export function usePasskey(optionsJSON) {
  return ceremony(() => SimpleWebAuthnBrowser.startAuthentication({ optionsJSON }));
}

/** Shows the registry that the person is still there: for some minutes it then does what it would not do otherwise. */
export async function checkPasskey() {
  const { options } = await send('POST', '/auth/check/options', {});
  await send('POST', '/auth/check/finish', { response: await usePasskey(options) });
}

/**
 * Makes one more passkey of the account that is signed in.
 * @param {string} name
 * @param {typeof send} sending how it is sent: with the passkey check, or right after a login without
 */
export async function addPasskey(name, sending) {
  const { options } = await sending('POST', '/api/v1/passkeys/options', {});
  return sending('POST', '/api/v1/passkeys', { name, response: await makePasskey(options) });
}

/** A name for a passkey of this browser. */
export function nameOfThisDevice() {
  const { userAgent } = navigator;
  const known = [
    ['iPhone', 'iPhone'],
    ['iPad', 'iPad'],
    ['Android', 'Android phone'],
    ['CrOS', 'Chromebook'],
    ['Macintosh', 'Mac'],
    ['Windows', 'Windows computer'],
    ['Linux', 'Linux computer'],
  ].find(([mark]) => userAgent.includes(/** @type {string} */ (mark)));
  return known?.[1] ?? 'This device';
}

/**
 * @template T
 * @param {() => Promise<T>} start
 * @returns {Promise<T>}
 */
async function ceremony(start) {
  if (!SimpleWebAuthnBrowser.browserSupportsWebAuthn()) {
    throw new Refusal(
      'passkey',
      'This browser cannot use passkeys here; use a newer one, over https or on localhost.',
    );
  }
  try {
    return await start();
  } catch (error) {
    throw new Refusal('passkey', sentence(/** @type {Error} */ (error)));
  }
}

/** @param {Error} error */
function sentence({ name }) {
  switch (name) {
    case 'InvalidStateError':
      return 'This device has a passkey of this account already; use another device or a security key.';
    case 'NotAllowedError':
    case 'AbortError':
      return 'No passkey was confirmed: it was cancelled, took too long, or there is none for this address here. Try again.';
    case 'SecurityError':
      return 'Passkeys do not work on this address; open the registry by its own name over https, or as localhost.';
    case 'NotSupportedError':
    case 'ConstraintError':
      return 'This device cannot make a passkey that asks for finger, face or PIN; use another device or a security key.';
    default:
      return 'The passkey did not work; try again, or use another device.';
  }
}
