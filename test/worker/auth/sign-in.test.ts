import { expect, test } from 'vitest';
import { signInOf } from '../../../worker/auth/sign-in.ts';
import type { Env } from '../../../worker/env.ts';

function settings(env: Partial<Env>) {
  const { oidc, access } = signInOf(env as Env, () => Promise.reject(new Error('nothing is to be fetched')));
  return { oidc, access };
}

test('what is not set is off, and names have defaults', () => {
  expect(settings({})).toEqual({ oidc: null, access: null });
  expect(
    settings({
      OIDC_ISSUER: 'https://login.example/tenant',
      OIDC_CLIENT_ID: 'abc',
      ACCESS_TEAM_DOMAIN: 'team.cloudflareaccess.com',
      ACCESS_AUD: 'tag',
    }),
  ).toEqual({
    oidc: {
      issuer: 'https://login.example/tenant',
      clientId: 'abc',
      clientSecret: null,
      name: 'login.example',
    },
    access: { issuer: 'https://team.cloudflareaccess.com', audience: 'tag' },
  });
});

test.for([
  [{ OIDC_ISSUER: 'https://login.example' }, 'OIDC_CLIENT_ID'],
  [{ OIDC_CLIENT_ID: 'abc' }, 'OIDC_ISSUER'],
  [{ OIDC_ISSUER: 'http://login.example', OIDC_CLIENT_ID: 'abc' }, 'OIDC_ISSUER'],
  [{ OIDC_ISSUER: 'login.example', OIDC_CLIENT_ID: 'abc' }, 'OIDC_ISSUER'],
  [
    { OIDC_ISSUER: 'https://login.example/.well-known/openid-configuration', OIDC_CLIENT_ID: 'abc' },
    'OIDC_ISSUER',
  ],
  [{ ACCESS_TEAM_DOMAIN: 'team.cloudflareaccess.com' }, 'ACCESS_AUD'],
  [{ ACCESS_AUD: 'tag' }, 'ACCESS_TEAM_DOMAIN'],
  [{ ACCESS_TEAM_DOMAIN: 'login.example', ACCESS_AUD: 'tag' }, 'ACCESS_TEAM_DOMAIN'],
  [{ ACCESS_TEAM_DOMAIN: 'evil.example/.cloudflareaccess.com', ACCESS_AUD: 'tag' }, 'ACCESS_TEAM_DOMAIN'],
] as const)('%j is refused by the name of what is wrong', ([env, name]) => {
  expect(() => settings(env)).toThrow(name);
});
