import type { Scope } from '../../schema/api.ts';

/** What a scope lets its holder do, as a person says it. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'skills:read': 'Read your skills and personas',
  'skills:write': 'Create and edit skills and personas, on all your devices',
  'items:confirm': 'Confirm that a suspicious text is no password or key',
  'devices:write': 'Let devices and applications in, and remove them',
};
