import { Hono } from 'hono';
import { type Invitation, InvitationBody, type InvitationList } from '../../schema/account.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { invite, listInvitations, revokeInvitation } from '../registry/invitations.ts';
import { setupLink } from '../registry/links.ts';
import { bodyOf } from './input.ts';

/** Invitations to this registry, under `/invitations`. They need `devices:write`. */
export const invitations = new Hono<AppEnv>();

/**
 * `InvitationBody` → 201 `Invitation`: a link for one further account, shown this once. Errors: `passkey_required`,
 * `rate_limited`.
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

/** → `InvitationList`, newest first. */
invitations.get('/', async (c) => {
  const answer: InvitationList = await listInvitations(await callerOf(c));
  return c.json(answer);
});

/** → 204: its link is dead. Errors: `not_found`, also for one that was used. */
invitations.delete('/:id', async (c) => {
  await revokeInvitation(await callerOf(c), c.req.param('id'));
  return c.body(null, 204);
});
