import type { PairingRequest } from '../../schema/api.ts';
import type { ErrorCode, RegistryError } from '../../schema/errors.ts';
import { visible } from '../../schema/visible.ts';
import { Foreign } from './foreign.tsx';
import { Outcome, type Page, page } from './layout.tsx';
import { Moment } from './moment.tsx';

/** Asks for the code that a device shows. `error` tells why the last one led nowhere. */
export function codePage({
  account,
  origin,
  code = '',
  error,
}: {
  account: string;
  origin: string;
  code?: string | undefined;
  error?: RegistryError;
}): Page {
  return page(
    { title: 'Pair a device', account, at: '/pair' },
    <section class="card">
      <h1>Pair a device</h1>
      {error && (
        <div class="notice bad" role="alert">
          <h2>{TITLES[error.code] ?? 'This did not work'}</h2>
          <p>{visible(error.message)}</p>
        </div>
      )}
      <form method="get" action="/pair">
        <label for="code">Code that the device shows</label>
        <input
          id="code"
          name="code"
          class="code"
          required
          value={code}
          maxlength={20}
          placeholder="XXXX-XXXX"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
          aria-describedby="code-hint"
        />
        <p class="quiet" id="code-hint">
          Run <code>repertoire pair {origin}</code> on the computer that you want to pair; it shows the code.
        </p>
        <button type="submit">Continue</button>
      </form>
    </section>,
  );
}

const TITLES: Partial<Record<ErrorCode, string>> = {
  not_found: 'This code cannot be used',
  expired_token: 'This code was used already',
  access_denied: 'This code was opened elsewhere',
  rate_limited: 'Locked for a while',
};

/** What waits behind a code, and the decision about it. */
export function pairPage({
  account,
  pairing,
  now,
}: {
  account: string;
  pairing: PairingRequest;
  now: number;
}): Page {
  const { user_code, name, platform, place, made_at, fingerprint, state } = pairing;
  return page(
    { title: 'Pair a device', account, at: '/pair', passkeys: true, script: 'pair.js' },
    <section class="card" id="pairing" data-code={user_code}>
      <h1>
        Pair “<Foreign>{name}</Foreign>”?
      </h1>
      <dl class="facts">
        <dt>Code</dt>
        <dd>{user_code}</dd>
        <dt>Platform</dt>
        <dd>
          <Foreign>{platform}</Foreign>
        </dd>
        <dt>Asked from</dt>
        <dd>
          <Foreign>{place}</Foreign>
        </dd>
        <dt>Asked</dt>
        <dd>
          <Moment at={made_at} now={now} />
        </dd>
        <dt>Fingerprint</dt>
        <dd class="words">{fingerprint}</dd>
      </dl>
      <div id="deciding" hidden={state !== 'pending'}>
        <p>The device shows the same four words. If they differ, deny it.</p>
        <p class="notice">
          <strong>Continue only if you started this on your own machine.</strong>
        </p>
        <div class="buttons">
          <button type="button" data-decision="approve">
            Approve
          </button>
          <button type="button" data-decision="deny" class="second danger">
            Deny
          </button>
        </div>
        <Outcome />
      </div>
      <div class="notice good" id="approve-done" tabindex={-1} hidden={state !== 'approved'}>
        <p>
          “<Foreign>{name}</Foreign>” is paired. It goes on by itself.{' '}
          <a href="/account#devices">See your devices</a>
        </p>
      </div>
      <div class="notice" id="deny-done" tabindex={-1} hidden={state !== 'denied'}>
        <p>
          “<Foreign>{name}</Foreign>” was turned away. <a href="/account#devices">See your devices</a>
        </p>
      </div>
    </section>,
  );
}

/** For a terminal: the page with the passkey is a browser's. */
export function pairText(typed = ''): string {
  const code = /^[A-Z]{4}-[A-Z]{4}$/.test(typed) ? typed : 'CODE';
  return [
    'A computer asks to be paired. Continue only if you started this on your own machine.',
    '',
    'Open this address in a browser to approve it with your passkey. Without a browser, on a computer with the',
    `owner token's file: repertoire approve ${code} --token-file PATH/owner.json`,
    '',
  ].join('\n');
}
