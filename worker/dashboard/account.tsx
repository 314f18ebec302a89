import { listEvents } from '../registry/account-events.ts';
import { listApplications } from '../registry/applications.ts';
import type { Context } from '../registry/context.ts';
import { listDevices } from '../registry/devices.ts';
import { listIdentities } from '../registry/identities.ts';
import { listInvitations } from '../registry/invitations.ts';
import { listPasskeys } from '../registry/passkeys.ts';
import { listSessions } from '../registry/sessions.ts';
import { listTokens } from '../registry/tokens.ts';
import { Applications, Devices } from './account-clients.tsx';
import { Danger, Events, Invitations, Tokens } from './account-more.tsx';
import { Identities, Passkeys, RecoveryCodes, Sessions } from './account-sign-in.tsx';
import { type Page, page } from './layout.tsx';

/** Everything that lets somebody into the caller's account, and what happened to it. */
export async function readAccess(ctx: Context) {
  const [applications, devices, passkeys, identities, sessions, tokens, invitations, events] =
    await Promise.all([
      listApplications(ctx),
      listDevices(ctx),
      listPasskeys(ctx),
      listIdentities(ctx),
      listSessions(ctx),
      listTokens(ctx),
      listInvitations(ctx),
      listEvents(ctx),
    ]);
  return {
    ...applications,
    ...devices,
    ...passkeys,
    ...identities,
    ...sessions,
    ...tokens,
    ...invitations,
    ...events,
  };
}
type Access = Awaited<ReturnType<typeof readAccess>>;

const SECTIONS = [
  ['applications', 'Applications'],
  ['devices', 'Devices'],
  ['passkeys', 'Passkeys'],
  ['recovery', 'Recovery codes'],
  ['sessions', 'Sessions'],
  ['tokens', 'API tokens'],
  ['invitations', 'Invitations'],
  ['danger', 'Revoke everything'],
  ['events', 'What happened'],
] as const;

interface Props {
  account: string;
  access: Access;
  /** Ids of the devices that are connected now. */
  online: ReadonlySet<string>;
  /** Name of another issuer that signs people in, where one is configured. */
  issuer: string | null;
  /** Whether Cloudflare Access does, too. */
  behindAccess: boolean;
  origin: string;
  now: number;
}

/** Who and what gets into the account, each with its last use and a button that ends it. */
export function accountPage(props: Props): Page {
  const { account, access, online, issuer, behindAccess, origin, now } = props;
  const recovers = access.sessions.some(({ current, method }) => current && method === 'recovery');
  return page(
    { title: 'Account', account, at: '/account', passkeys: true, script: 'account.js', wide: true },
    <>
      <h1>Who gets into your account</h1>
      <div class="columns">
        <nav class="contents" aria-label="On this page">
          <ul>
            {SECTIONS.map(([id, name]) => (
              <li>
                <a href={`#${id}`}>{name}</a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="sections">
          {recovers && (
            <p class="notice bad">
              You came in with a recovery code. <a href="#passkeys">Add a passkey now</a>, within the hour,
              and remove the one that you lost.
            </p>
          )}
          <Applications list={access.applications} origin={origin} now={now} />
          <Devices list={access.devices} online={online} origin={origin} now={now} />
          <Passkeys list={access.passkeys} now={now} />
          <RecoveryCodes left={access.recovery_codes_left} />
          <Sessions list={access.sessions} now={now} />
          {(issuer !== null || behindAccess || access.identities.length > 0) && (
            <Identities list={access.identities} issuer={issuer} behindAccess={behindAccess} now={now} />
          )}
          <Tokens list={access.tokens} now={now} />
          <Invitations list={access.invitations} now={now} />
          <Danger />
          <Events list={access.events} now={now} />
        </div>
      </div>
      <dialog id="ask" aria-labelledby="ask-sentence">
        <form method="dialog">
          <p id="ask-sentence" />
          <div class="buttons">
            <button type="submit" value="yes" class="danger" />
            <button type="submit" value="no" class="plain">
              Cancel
            </button>
          </div>
        </form>
      </dialog>
    </>,
  );
}
