import { Hono } from 'hono';
import { type Invitation, InvitationBody } from '../../schema/account.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { invite, setupLink } from '../registry/links.ts';
import { bodyOf } from './input.ts';

/** Invitations to this registry, under `/invitations`. */
export const invitations = new Hono<AppEnv>();

/**
 * `InvitationBody` → 201 `Invitation`: a link for one further account, shown this once. Needs `devices:write`. Errors:
 * `passkey_required`, `rate_limited`.
 */
invitations.post('/', async (c) => {
  const ctx = await callerOf(c);
  const { name } = await bodyOf(c, InvitationBody);
  const { token, expiresAt } = await invite(ctx, name);
  const answer: Invitation = {
    url: setupLink(new URL(c.req.url).origin, token),
    expires_at: expiresAt,
  };
  return c.json(answer, 201);
});
