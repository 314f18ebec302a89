import { z } from 'zod';

/** Every reason a verb can refuse for. Closed: each transport maps all of them, and adding one is a compile error there. */
export const ErrorCode = z.enum([
  'invalid_input',
  'invalid_name',
  'invalid_path',
  'invalid_front_matter',
  'path_collision',
  'too_large',
  'name_change',
  'name_taken',
  'ambiguous_name',
  'not_found',
  'conflict',
  'credential',
  'confirmation_required',
  'unauthorized',
  'insufficient_scope',
  'passkey_required',
  'registry_rewound',
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
  'rate_limited',
  'unavailable',
  'internal',
]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** One place where content was refused. Never holds the refused value. */
export const Finding = z.object({
  rule: z.string(),
  level: z.enum(['refuse', 'ask']),
  path: z.string(),
  line: z.number().int().positive(),
  /** SHA-256 of the match: what a confirmation names. */
  match: z.string(),
});
export type Finding = z.infer<typeof Finding>;

/** Facts that go with a code, for programs. The message says the same to a person. */
export const ErrorDetails = z.object({
  field: z.string().optional(),
  path: z.string().optional(),
  line: z.number().int().positive().optional(),
  findings: z.array(Finding).optional(),
  current_revision: z.number().int().positive().optional(),
  /** Paths whose bytes differ between the revision the caller knew and the current one. */
  differs: z.array(z.string()).optional(),
  scopes: z.array(z.string()).optional(),
  retry_after_s: z.number().optional(),
  /** DPoP nonce to use in the next proof (RFC 9449 section 8). */
  nonce: z.string().optional(),
  cursor: z.string().optional(),
});
export type ErrorDetails = z.infer<typeof ErrorDetails>;

/** The body of every failed API answer: RFC 9457 problem details, with our code and details. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: ErrorCode,
  details: ErrorDetails.optional(),
});
export type Problem = z.infer<typeof Problem>;

/**
 * The one error that verbs throw. `message` is one sentence written for the person or the model that reads it:
 * what happened, to what, what to do. It never holds a secret.
 */
export class RegistryError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RegistryError';
    this.code = code;
    this.details = details;
  }
}
