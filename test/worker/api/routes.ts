import type { Things } from '../things.ts';
import type { Call } from './harness.ts';

export interface Route {
  readonly method: string;
  /** As the app registers it. */
  readonly path: string;
  readonly at: (things: Things) => string;
  readonly body?: NonNullable<Call['body']>;
  /** Scope that a caller needs, beyond a credential; null where it acts by its key alone. */
  readonly scope: 'skills:read' | 'skills:write' | 'devices:write' | 'device' | 'none' | null;
}

/** Shaped like what a browser makes; nobody signed it. */
const REGISTRATION = {
  id: 'AA',
  rawId: 'AA',
  type: 'public-key',
  clientExtensionResults: {},
  response: { clientDataJSON: 'AA', attestationObject: 'AA' },
};

const edit = { expected_revision: 1, description: 'Changed by someone else.' };

/** Every route of the API, once: the tests that hold for all of them run over this table. */
export const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/items',
    at: () => '/items',
    body: { kind: 'skill', name: 'b', description: 'B.', instructions: 'B.' },
    scope: 'skills:write',
  },
  { method: 'GET', path: '/items', at: () => '/items', scope: 'skills:read' },
  {
    method: 'GET',
    path: '/items/:kind/:name',
    at: ({ skill }) => `/items/skill/${skill}`,
    scope: 'skills:read',
  },
  {
    method: 'PATCH',
    path: '/items/:kind/:name',
    at: ({ skill }) => `/items/skill/${skill}`,
    body: edit,
    scope: 'skills:write',
  },
  {
    method: 'DELETE',
    path: '/items/:kind/:name',
    at: ({ skill }) => `/items/skill/${skill}?expected_revision=1`,
    scope: 'skills:write',
  },
  {
    method: 'POST',
    path: '/items/:kind/:name/restore',
    at: ({ skill }) => `/items/skill/${skill}/restore`,
    body: { expected_revision: 1 },
    scope: 'skills:write',
  },
  {
    method: 'POST',
    path: '/items/:kind/:name/rename',
    at: ({ skill }) => `/items/skill/${skill}/rename`,
    body: { expected_revision: 1, to: 'other' },
    scope: 'skills:write',
  },
  {
    method: 'GET',
    path: '/items/:kind/:name/history',
    at: ({ skill }) => `/items/skill/${skill}/history`,
    scope: 'skills:read',
  },
  {
    method: 'GET',
    path: '/items/:kind/:name/files/:path{.+}',
    at: ({ skill }) => `/items/skill/${skill}/files/SKILL.md`,
    scope: 'skills:read',
  },
  { method: 'GET', path: '/changes', at: () => '/changes', scope: 'skills:read' },
  { method: 'GET', path: '/blobs/:digest', at: ({ digest }) => `/blobs/${digest}`, scope: 'skills:read' },
  {
    method: 'PUT',
    path: '/blobs/:digest',
    at: () => '/blobs/3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d',
    body: 'b',
    scope: 'skills:write',
  },
  { method: 'GET', path: '/guidelines', at: () => '/guidelines', scope: 'skills:read' },
  {
    method: 'PUT',
    path: '/guidelines',
    at: () => '/guidelines',
    body: { text: 'Be kind.' },
    scope: 'skills:write',
  },
  { method: 'GET', path: '/devices', at: () => '/devices', scope: 'skills:read' },
  { method: 'POST', path: '/devices/token', at: () => '/devices/token', scope: null },
  {
    method: 'PUT',
    path: '/devices/self/report',
    at: () => '/devices/self/report',
    body: { cursor: null, agent_version: '1', folders: [], dropped: [], events: [] },
    scope: 'device',
  },
  {
    method: 'GET',
    path: '/devices/:id/history',
    at: ({ device }) => `/devices/${device}/history`,
    scope: 'skills:read',
  },
  {
    method: 'DELETE',
    path: '/devices/:id',
    at: ({ device }) => `/devices/${device}`,
    scope: 'devices:write',
  },
  {
    method: 'POST',
    path: '/pairings',
    at: () => '/pairings',
    body: { name: 'n', platform: 'p' },
    scope: null,
  },
  {
    method: 'POST',
    path: '/pairings/token',
    at: () => '/pairings/token',
    body: { device_code: 'x' },
    scope: null,
  },
  { method: 'GET', path: '/pairings/:code', at: ({ code }) => `/pairings/${code}`, scope: 'devices:write' },
  {
    method: 'POST',
    path: '/pairings/:code/approve',
    at: ({ code }) => `/pairings/${code}/approve`,
    scope: 'devices:write',
  },
  {
    method: 'POST',
    path: '/pairings/:code/deny',
    at: ({ code }) => `/pairings/${code}/deny`,
    scope: 'devices:write',
  },
  { method: 'GET', path: '/tokens', at: () => '/tokens', scope: 'devices:write' },
  {
    method: 'POST',
    path: '/tokens',
    at: () => '/tokens',
    body: { name: 'n', scopes: ['skills:read'], days: 1 },
    scope: 'devices:write',
  },
  { method: 'DELETE', path: '/tokens/:id', at: ({ token }) => `/tokens/${token}`, scope: 'devices:write' },
  { method: 'GET', path: '/events', at: () => '/events', scope: 'devices:write' },
  { method: 'POST', path: '/revoke-all', at: () => '/revoke-all', scope: 'devices:write' },
  { method: 'GET', path: '/servers', at: () => '/servers', scope: 'skills:read' },
  {
    method: 'POST',
    path: '/servers',
    at: () => '/servers',
    body: { name: 'more', upstream: 'https://mcp.example.com/mcp' },
    scope: 'skills:write',
  },
  { method: 'GET', path: '/servers/:name', at: ({ server }) => `/servers/${server}`, scope: 'skills:read' },
  {
    method: 'PATCH',
    path: '/servers/:name',
    at: ({ server }) => `/servers/${server}`,
    body: { in_main: true },
    scope: 'skills:write',
  },
  {
    method: 'DELETE',
    path: '/servers/:name',
    at: ({ server }) => `/servers/${server}`,
    scope: 'skills:write',
  },
  {
    method: 'GET',
    path: '/servers/:name/preview',
    at: ({ server }) => `/servers/${server}/preview`,
    scope: 'skills:read',
  },
  {
    method: 'POST',
    path: '/servers/:name/connect',
    at: ({ server }) => `/servers/${server}/connect`,
    scope: 'skills:write',
  },
  {
    method: 'GET',
    path: '/servers/:name/skills/:file',
    at: ({ server }) => `/servers/${server}/skills/mine.md`,
    scope: 'skills:read',
  },
  {
    method: 'PUT',
    path: '/servers/:name/skills/:file',
    at: ({ server }) => `/servers/${server}/skills/mine.md`,
    body: { text: '---\nname: other\n---\nOther.\n' },
    scope: 'skills:write',
  },
  {
    method: 'DELETE',
    path: '/servers/:name/skills/:file',
    at: ({ server }) => `/servers/${server}/skills/mine.md`,
    scope: 'skills:write',
  },
  { method: 'GET', path: '/applications', at: () => '/applications', scope: 'devices:write' },
  {
    method: 'DELETE',
    path: '/applications/:id',
    at: ({ application }) => `/applications/${application}`,
    scope: 'devices:write',
  },
  { method: 'GET', path: '/sessions', at: () => '/sessions', scope: 'devices:write' },
  {
    method: 'DELETE',
    path: '/sessions/:id',
    at: ({ session }) => `/sessions/${session}`,
    scope: 'devices:write',
  },
  { method: 'GET', path: '/passkeys', at: () => '/passkeys', scope: 'devices:write' },
  { method: 'POST', path: '/passkeys/options', at: () => '/passkeys/options', scope: 'devices:write' },
  {
    method: 'POST',
    path: '/passkeys',
    at: () => '/passkeys',
    body: { name: 'n', response: REGISTRATION },
    scope: 'devices:write',
  },
  {
    method: 'PATCH',
    path: '/passkeys/:id',
    at: ({ passkey }) => `/passkeys/${passkey}`,
    body: { name: 'theirs' },
    scope: 'devices:write',
  },
  {
    method: 'DELETE',
    path: '/passkeys/:id',
    at: ({ passkey }) => `/passkeys/${passkey}`,
    scope: 'devices:write',
  },
  { method: 'POST', path: '/recovery-codes', at: () => '/recovery-codes', scope: 'devices:write' },
  { method: 'GET', path: '/identities', at: () => '/identities', scope: 'devices:write' },
  {
    method: 'DELETE',
    path: '/identities/:id',
    at: ({ identity }) => `/identities/${identity}`,
    scope: 'devices:write',
  },
  {
    method: 'POST',
    path: '/invitations',
    at: () => '/invitations',
    body: { name: 'n' },
    scope: 'devices:write',
  },
  { method: 'GET', path: '/invitations', at: () => '/invitations', scope: 'devices:write' },
  {
    method: 'DELETE',
    path: '/invitations/:id',
    at: ({ invitation }) => `/invitations/${invitation}`,
    scope: 'devices:write',
  },
  { method: 'GET', path: '/clients', at: () => '/clients', scope: 'skills:read' },
  { method: 'GET', path: '/push', at: () => '/push', scope: 'device' },
  { method: 'GET', path: '/whoami', at: () => '/whoami', scope: 'none' },
];

/** What a socket's request says besides. */
export const UPGRADE = { upgrade: 'websocket' };
