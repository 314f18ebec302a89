import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import { base64url } from 'jose';
import { RegistryError } from '../../schema/errors.ts';
import type { AuthenticationResponse, RegistrationResponse } from '../../schema/sign-in.ts';
import type { KnownPasskey, NewPasskey, PasskeyUse, StoredPasskey } from '../registry/passkeys.ts';

export type CreationOptions = PublicKeyCredentialCreationOptionsJSON;
export type RequestOptions = PublicKeyCredentialRequestOptionsJSON;

/** EdDSA, ES256, RS256 as COSE numbers: all that authenticators make, and all that workerd verifies. */
const ALGORITHMS = [-8, -7, -257];

/** What passkeys are for (WebAuthn's relying party): this origin, and its host name. */
export interface Party {
  readonly origin: string;
  readonly id: string;
}

/** @throws RegistryError `invalid_input` where the page was opened by an IP address, for which no browser makes passkeys */
export function partyOf(request: Request): Party {
  const { origin, hostname, port, protocol } = new URL(request.url);
  if (!/^\d+(\.\d+){3}$|^\[/.test(hostname)) return { origin, id: hostname };
  throw new RegistryError(
    'invalid_input',
    hostname === '127.0.0.1' || hostname === '[::1]'
      ? `Passkeys need a host name, and ${hostname} is none; open ${protocol}//localhost${port && `:${port}`} instead.`
      : `Passkeys need a host name, and ${hostname} is none; open this registry by its name.`,
  );
}

/** Options for a new passkey of an account: found without a name, unlocked by its person, on no authenticator twice. */
export async function askToRegister(
  party: Party,
  account: { readonly id: string; readonly name: string },
  known: readonly KnownPasskey[],
): Promise<CreationOptions> {
  const { generateRegistrationOptions } = await webauthn();
  return generateRegistrationOptions({
    rpName: 'Repertoire',
    rpID: party.id,
    userName: account.name,
    userDisplayName: account.name,
    userID: new TextEncoder().encode(account.id) as Uint8Array<ArrayBuffer>,
    attestationType: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
  });
}

/** Options for a signature: by one of these passkeys, or by any that the browser finds. */
export async function askToSign(party: Party, known: readonly KnownPasskey[] = []): Promise<RequestOptions> {
  const { generateAuthenticationOptions } = await webauthn();
  return generateAuthenticationOptions({
    rpID: party.id,
    userVerification: 'required',
    allowCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
  });
}

/** Judges a new passkey by WebAuthn Level 3 section 7.1, its user verified. @throws RegistryError `access_denied` */
export async function proveRegistration(
  party: Party,
  response: RegistrationResponse,
  challenge: string,
): Promise<NewPasskey> {
  const { verifyRegistrationResponse } = await webauthn();
  const { registrationInfo: made } = await judged(async () => {
    refuseFrames(response);
    return await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
  });
  if (made?.credential.id !== response.id) throw refused();
  return {
    id: made.credential.id,
    publicKey: made.credential.publicKey,
    counter: made.credential.counter,
    transports: response.response.transports,
    synced: made.credentialBackedUp,
  };
}

/**
 * Judges a signature by WebAuthn Level 3 section 7.2, its user verified. A counter that does not rise is refused: the
 * passkey's key is then in two places. `found`: nobody said beforehand who signs, so the answer must.
 * @throws RegistryError `access_denied`
 */
export async function proveSignature(
  party: Party,
  response: AuthenticationResponse,
  challenge: string,
  { passkey, found }: { readonly passkey: StoredPasskey | null; readonly found: boolean },
): Promise<PasskeyUse> {
  const { verifyAuthenticationResponse } = await webauthn();
  if (!passkey || passkey.id !== response.id) {
    throw new RegistryError(
      'access_denied',
      'This passkey is not known here; choose another one, or sign in with a recovery code.',
    );
  }
  const { userHandle, ...signed } = response.response;
  const holder = userHandle ?? null;
  if (holder === null ? found : holder !== base64url.encode(passkey.accountId)) throw refused();
  const { verified, authenticationInfo: info } = await judged(() => {
    refuseFrames(response);
    return verifyAuthenticationResponse({
      response: { ...response, response: signed },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: { id: passkey.id, publicKey: passkey.publicKey, counter: passkey.counter },
    });
  });
  if (!verified) throw refused();
  return { passkey, counter: info.newCounter, synced: info.credentialBackedUp };
}

/** Only who signs in pays for loading it. */
function webauthn() {
  return import('@simplewebauthn/server');
}

/** The library's messages hold challenges, which are nobody's to read: none of them goes further. */
async function judged<T>(judge: () => Promise<T>): Promise<T> {
  try {
    return await judge();
  } catch {
    throw refused();
  }
}

/** A page elsewhere that shows ours in a frame could get a person to sign without knowing what for. */
function refuseFrames({ response }: RegistrationResponse | AuthenticationResponse): void {
  const said: unknown = JSON.parse(new TextDecoder().decode(base64url.decode(response.clientDataJSON)));
  if ((said as { crossOrigin?: unknown }).crossOrigin === true) throw refused();
}

function refused(): RegistryError {
  return new RegistryError(
    'access_denied',
    'The answer of the passkey does not hold, so nothing was done; try again, with the passkey unlocked by you.',
  );
}
