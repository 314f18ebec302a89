import type * as SimpleWebAuthn from '@simplewebauthn/browser';

declare global {
  /** Set by `/assets/webauthn.js`, the UMD bundle of the package. */
  const SimpleWebAuthnBrowser: typeof SimpleWebAuthn;
}
