import { z } from 'zod';

/** Bodies of the doors under `/auth` and of those of the API that take a passkey's answer. */

const Base64url = z
  .string()
  .regex(/^[\w-]*$/)
  .max(64 * 1024);

/** What `navigator.credentials.create` gave, as JSON (WebAuthn Level 3 section 5.1.8). */
export const RegistrationResponse = z.object({
  id: Base64url,
  rawId: Base64url,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: Base64url,
    attestationObject: Base64url,
    transports: z.array(z.string().max(32)).max(16).default([]),
  }),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
});
export type RegistrationResponse = z.infer<typeof RegistrationResponse>;

/** What `navigator.credentials.get` gave, as JSON. */
export const AuthenticationResponse = z.object({
  id: Base64url,
  rawId: Base64url,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: Base64url,
    authenticatorData: Base64url,
    signature: Base64url,
    userHandle: Base64url.nullish(),
  }),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
});
export type AuthenticationResponse = z.infer<typeof AuthenticationResponse>;

const Label = z.string().min(1).max(100);

/** Token of a one-time link, as it stands in the link's fragment. */
const LinkToken = z.string().min(1).max(200);

/** `POST /auth/setup/options` */
export const SetupOptionsBody = z.strictObject({ token: LinkToken });
/** `POST /auth/setup/finish` */
export const SetupBody = z.strictObject({
  token: LinkToken,
  account_name: Label.optional(),
  passkey_name: Label.optional(),
  response: RegistrationResponse,
});
/** `POST /auth/login/finish`, `POST /auth/check/finish` */
export const PasskeyAnswerBody = z.strictObject({ response: AuthenticationResponse });
/** `POST /auth/login/recovery` */
export const RecoveryBody = z.strictObject({ code: z.string().min(1).max(200) });
/** `POST /api/v1/passkeys` */
export const NewPasskeyBody = z.strictObject({ name: Label.optional(), response: RegistrationResponse });
