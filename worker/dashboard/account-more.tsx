import type { AccountEvent, ApiToken, InvitationList } from '../../schema/account.ts';
import { Scope } from '../../schema/api.ts';
import { Entries, Entry, Revoke, Section, ShownOnce } from './account-parts.tsx';
import { ALARMING, EventSentence } from './event-sentence.tsx';
import { Foreign } from './foreign.tsx';
import { LastUse, Moment } from './moment.tsx';
import { SCOPE_WORDS } from './scopes.ts';

const LIVES = [
  [30, '30 days'],
  [90, '90 days'],
  [365, 'A year'],
  ['', 'No end'],
] as const;

export function Tokens({ list, now }: { list: readonly ApiToken[]; now: number }) {
  return (
    <Section id="tokens" title="API tokens" about="For scripts and for clients that cannot open a browser.">
      <Entries label="API tokens" empty="There is no API token.">
        {list.map(({ id, name, scopes, created_at, expires_at, last_used_at }) => (
          <Entry
            name={<Foreign>{name}</Foreign>}
            marks={scopes}
            facts={[
              <>made {<Moment at={created_at} now={now} />}</>,
              <LastUse at={last_used_at} now={now} />,
              expires_at === null ? 'never ends' : <>ends {<Moment at={expires_at} now={now} />}</>,
            ]}
          >
            <Revoke
              path={`/api/v1/tokens/${encodeURIComponent(id)}`}
              verb="Revoke"
              name={name}
              ask="Revoke the API token NAME? Whatever uses it is refused at once."
              done="The API token NAME was revoked."
            />
          </Entry>
        ))}
      </Entries>
      <ShownOnce label="Your new API token." />
      <details class="more">
        <summary>Make a token</summary>
        <form id="make-token">
          <label for="token-name">Name</label>
          <input id="token-name" name="name" required maxlength={100} placeholder="Backup script" />
          <fieldset>
            <legend>What it may do</legend>
            {Scope.options.map((scope) => (
              <label class="choice">
                <input type="checkbox" name="scope" value={scope} checked={scope === 'skills:read'} />
                <span>
                  {SCOPE_WORDS[scope]} <code>{scope}</code>
                </span>
              </label>
            ))}
          </fieldset>
          <label for="token-days">Ends after</label>
          <select id="token-days" name="days">
            {LIVES.map(([days, words]) => (
              <option value={days} selected={days === 90}>
                {words}
              </option>
            ))}
          </select>
          <button type="submit">Make the token</button>
          <p class="outcome" role="alert" />
        </form>
      </details>
    </Section>
  );
}

export function Invitations({ list, now }: { list: InvitationList['invitations']; now: number }) {
  return (
    <Section
      id="invitations"
      title="Invitations"
      about="A guest gets an account with a registry of its own: you see nothing of theirs, they see nothing of yours."
    >
      <Entries label="Invitations" empty="No invitation is open.">
        {list.map(({ id, name, created_at, expires_at }) => (
          <Entry
            name={<Foreign>{name}</Foreign>}
            facts={[
              <>made {<Moment at={created_at} now={now} />}</>,
              <>ends {<Moment at={expires_at} now={now} />}</>,
            ]}
          >
            <Revoke
              path={`/api/v1/invitations/${encodeURIComponent(id)}`}
              verb="Take back"
              name={name}
              ask="Take back the invitation of NAME? Its link ends at once."
              done="The invitation of NAME was taken back."
            />
          </Entry>
        ))}
      </Entries>
      <form id="invite" class="row">
        <label for="guest">Name of the guest</label>
        <input id="guest" name="name" required maxlength={100} autocomplete="off" />
        <button type="submit" class="second">
          Make an invitation
        </button>
      </form>
      <ShownOnce label="Send this link to your guest: it works once, within the hour." />
    </Section>
  );
}

export function Danger() {
  return (
    <Section
      id="danger"
      title="Revoke everything"
      about="For the loss of a device or a passkey: ends every other session, every API token, every application, every device, every linked login and every open invitation at once. Your passkeys and recovery codes stay: remove a passkey that you lost, and make new codes if somebody may have seen yours. Your skills stay, and so do the files on the devices."
    >
      <form
        id="revoke-all"
        data-ask="Revoke everything? Every other session, every API token, every application, every device and every linked login loses access at once."
      >
        <button type="submit" class="danger">
          Revoke everything
        </button>
      </form>
    </Section>
  );
}

export function Events({ list, now }: { list: readonly AccountEvent[]; now: number }) {
  return (
    <Section id="events" title="What happened" about="To the access to your account, newest first.">
      {list.length === 0 ? (
        <p class="empty">Nothing has happened yet.</p>
      ) : (
        <ol class="events">
          {list.map((event) => (
            <li class={ALARMING.has(event.type) ? 'alarming' : undefined}>
              <span>
                <EventSentence event={event} />
              </span>
              <Moment at={event.at} now={now} />
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}
