import type { AccountEvent } from '../../schema/account.ts';
import { Foreign } from './foreign.tsx';

/** Kinds of event after which a person should look whether it was they. */
export const ALARMING: ReadonlySet<AccountEvent['type']> = new Set([
  'recovery_code_used',
  'recovery_link_used',
  'refresh_replayed',
  'key_on_two_machines',
  'pairing_locked',
]);

/** What happened, as one sentence. */
export function EventSentence({ event: { type, details } }: { event: AccountEvent }) {
  const fact = (key: string) => <Foreign>{details[key] ?? 'unknown'}</Foreign>;
  const time = (key: string) => <>{details[key]?.slice(0, 16).replace('T', ' ')} UTC</>;
  const from = (
    <>
      with {fact('browser')} from {fact('place')}
    </>
  );
  switch (type) {
    case 'owner_made':
      return <>This account got its owner, {from}.</>;
    case 'signed_in':
      return (
        <>
          Signed in by {METHODS[details.method ?? ''] ?? 'an unknown way'}, {from}.
        </>
      );
    case 'passkey_added':
      return <>The passkey “{fact('name')}” was added.</>;
    case 'passkey_removed':
      return <>The passkey “{fact('name')}” was removed.</>;
    case 'recovery_code_used':
      return <>A recovery code was used, {from}.</>;
    case 'recovery_codes_made':
      return <>New recovery codes were made; the old ones ended.</>;
    case 'recovery_link_used':
      return <>A recovery link was used, {from}.</>;
    case 'identity_linked':
      return (
        <>
          The login {fact('name')} at {fact('host')} was linked.
        </>
      );
    case 'identity_unlinked':
      return (
        <>
          The login {fact('name')} at {fact('host')} was unlinked.
        </>
      );
    case 'invited':
      return <>An invitation for “{fact('name')}” was made.</>;
    case 'application_connected':
      return (
        <>
          The application “{fact('name')}” of {fact('host')} was connected.
        </>
      );
    case 'application_revoked':
      return (
        <>
          The application “{fact('name')}” of {fact('host')} was disconnected.
        </>
      );
    case 'refresh_replayed':
      return (
        <>
          The application “{fact('name')}” of {fact('host')} was disconnected: an old token of it was used
          again, so somebody may have copied it. Connect it again if you trust it.
        </>
      );
    case 'token_made':
      return <>The API token “{fact('name')}” was made.</>;
    case 'token_revoked':
      return <>The API token “{fact('name')}” was revoked.</>;
    case 'session_revoked':
      return <>The session of {fact('browser')} was ended.</>;
    case 'device_paired':
      return (
        <>
          The device “{fact('name')}” was paired, asked from {fact('place')}.
        </>
      );
    case 'device_revoked':
      return <>The device “{fact('name')}” was revoked.</>;
    case 'key_on_two_machines':
      return (
        <>
          The key of the device “{fact('name')}” is in use on two machines: from {fact('place')} since{' '}
          {time('since')}, and from {fact('other_place')} since {time('other_since')}. Its disk or backup may
          have been copied. Revoke the device and pair the computer again.
        </>
      );
    case 'pairing_locked':
      return <>Five wrong pairing codes were typed; pairing was locked for ten minutes.</>;
    case 'all_revoked':
      return (
        <>Everything was revoked: other sessions, API tokens, applications, devices and linked logins.</>
      );
  }
}

const METHODS: Readonly<Record<string, string>> = {
  passkey: 'passkey',
  recovery: 'recovery code',
  oidc: 'linked login',
  access: 'Cloudflare Access',
};
