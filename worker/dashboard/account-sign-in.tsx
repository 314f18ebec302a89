import type { Identity, Passkey, Session } from '../../schema/account.ts';
import { visible } from '../../schema/visible.ts';
import { Entries, Entry, Revoke, Section } from './account-parts.tsx';
import { Foreign } from './foreign.tsx';
import { LastUse, Moment } from './moment.tsx';
import { ShownCodes } from './setup.tsx';

export function Passkeys({ list, now }: { list: readonly Passkey[]; now: number }) {
  return (
    <Section
      id="passkeys"
      title="Passkeys"
      about={
        list.length < 2 &&
        'Add a second one, on another device or a security key: then the loss of one does not lock you out.'
      }
    >
      <Entries label="Passkeys" empty="You have no passkey. Add one, so that you get in without a link.">
        {list.map(({ id, name, synced, created_at, last_used_at }) => {
          const path = `/api/v1/passkeys/${encodeURIComponent(id)}`;
          return (
            <Entry
              name={<Foreign>{name}</Foreign>}
              marks={[synced && 'synced']}
              facts={[
                <>made {<Moment at={created_at} now={now} />}</>,
                <LastUse at={last_used_at} now={now} />,
              ]}
            >
              <details class="rename">
                <summary aria-label={`Rename ${visible(name)}`}>Rename</summary>
                <form data-rename={path}>
                  <label>
                    New name
                    <input name="name" required maxlength={100} value={visible(name)} />
                  </label>
                  <button type="submit" class="second">
                    Save
                  </button>
                </form>
              </details>
              <Revoke
                path={path}
                verb="Remove"
                name={name}
                ask="Remove the passkey NAME? Nobody signs in with it any more, and the other sessions that it opened end."
                done="The passkey NAME was removed."
              />
            </Entry>
          );
        })}
      </Entries>
      <form id="add-passkey" class="row">
        <label for="new-passkey">Name of a further passkey</label>
        <input id="new-passkey" name="name" required maxlength={100} />
        <button type="submit" class="second">
          Add a passkey
        </button>
      </form>
    </Section>
  );
}

export function RecoveryCodes({ left }: { left: number }) {
  const words = left === 1 ? 'One recovery code is' : `${left === 0 ? 'No' : left} recovery codes are`;
  return (
    <Section
      id="recovery"
      title="Recovery codes"
      about={`${words} left. Each lets you in once, should you lose your passkey.`}
    >
      <form
        id="make-codes"
        data-ask={left > 0 ? 'Make eight new recovery codes? The old ones end at once.' : undefined}
      >
        <button type="submit" class="second">
          Make new codes
        </button>
      </form>
      <div id="new-codes" tabindex={-1} hidden>
        <p>Keep them where you keep other important papers. They are shown only now.</p>
        <ShownCodes />
      </div>
    </Section>
  );
}

const METHODS: Readonly<Record<Session['method'], string>> = {
  passkey: 'by passkey',
  recovery: 'by recovery code',
  oidc: 'by linked login',
  access: 'by Cloudflare Access',
};

export function Sessions({ list, now }: { list: readonly Session[]; now: number }) {
  return (
    <Section id="sessions" title="Sessions" about="Browsers that are signed in.">
      <Entries label="Sessions" empty="No browser is signed in.">
        {list.map(({ id, browser, place, method, created_at, last_used_at, current }) => (
          <Entry
            name={<Foreign>{browser}</Foreign>}
            marks={[current && 'this browser']}
            facts={[
              <>from {<Foreign>{place}</Foreign>}</>,
              <>
                signed in {METHODS[method]} {<Moment at={created_at} now={now} />}
              </>,
              <LastUse at={last_used_at} now={now} />,
            ]}
          >
            <Revoke
              path={`/api/v1/sessions/${encodeURIComponent(id)}`}
              verb={current ? 'Sign out' : 'End'}
              name={browser}
              ask={
                current
                  ? 'Sign out in this browser?'
                  : 'End the session of NAME? Whoever uses it has to sign in again.'
              }
              done="The session of NAME was ended."
              then={current ? '/' : undefined}
            />
          </Entry>
        ))}
      </Entries>
    </Section>
  );
}

export function Identities({
  list,
  issuer,
  behindAccess,
  now,
}: {
  list: readonly Identity[];
  issuer: string | null;
  /** Whether Cloudflare Access signs people in here. */
  behindAccess: boolean;
  now: number;
}) {
  return (
    <Section id="identities" title="Linked logins" about="Logins elsewhere that open this account.">
      <Entries label="Linked logins" empty="No login is linked.">
        {list.map(({ id, name, issuer: host, created_at, last_used_at }) => (
          <Entry
            name={<Foreign>{name}</Foreign>}
            facts={[
              <Foreign>{new URL(host).host}</Foreign>,
              <>linked {<Moment at={created_at} now={now} />}</>,
              <LastUse at={last_used_at} now={now} />,
            ]}
          >
            <Revoke
              path={`/api/v1/identities/${encodeURIComponent(id)}`}
              verb="Unlink"
              name={name}
              ask="Unlink the login NAME? It opens this account no more."
              done="The login NAME was unlinked."
            />
          </Entry>
        ))}
      </Entries>
      {issuer !== null && (
        <form id="link-login">
          <button type="submit" class="second">
            Link a login at {issuer}
          </button>
        </form>
      )}
      {behindAccess && (
        <form id="link-access">
          <button type="submit" class="second">
            Link your login at Cloudflare Access
          </button>
        </form>
      )}
    </Section>
  );
}
