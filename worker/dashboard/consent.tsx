import type { Scope } from '../../schema/api.ts';
import { Foreign } from './foreign.tsx';
import { type Page, page } from './layout.tsx';
import { SCOPE_WORDS } from './scopes.ts';

interface Consent {
  /** Stands for the request that waits; the form sends it back. */
  handle: string;
  client: {
    /** Host that vouches for the client: of its client id, else of its redirect. */
    host: string;
    /** As the client calls itself. */
    name: string;
    redirectHost: string;
    /** The answer goes to a program on the person's own computer. */
    loopback: boolean;
  };
  account: string;
  scopes: readonly Scope[];
  /** Whether it asks to write, or could by asking for more. */
  mayWrite: boolean;
}

/**
 * Asks the person about an application. A plain form: it posts `handle` and `decision` (`allow`, `allow-read` or `deny`) to
 * `/authorize`.
 */
export function consentPage({ handle, client, account, scopes, mayWrite }: Consent): Page {
  // Whoever names no address of its own is no more than some program on the person's computer.
  const vouchedFor = client.host !== client.redirectHost || !client.loopback;
  return page(
    { title: 'Connect an application', account, script: 'consent.js' },
    <section class="card consent">
      <h1>
        Connect{' '}
        <strong class="host">
          {vouchedFor ? <Foreign whole>{client.host}</Foreign> : 'a program on this computer'}
        </strong>
      </h1>
      <p>
        It calls itself “<Foreign>{client.name}</Foreign>”. Anyone can choose such a name
        {vouchedFor ? '; the address above is what counts.' : '.'}
      </p>
      <h2>It will be able to</h2>
      <ul class="scopes">
        {scopes.map((scope) => (
          <li>{SCOPE_WORDS[scope]}</li>
        ))}
        {mayWrite && !scopes.includes('skills:write') && <li>Ask you later to let it edit them</li>}
      </ul>
      <dl class="facts">
        <dt>Your account</dt>
        <dd>
          <Foreign>{account}</Foreign>
        </dd>
        <dt>Answer goes to</dt>
        <dd>
          <Foreign whole>{client.redirectHost}</Foreign>
        </dd>
      </dl>
      {client.loopback && (
        <p class="notice">
          The answer goes to a program on this computer. Any program here can ask like this: continue only if
          you just started it yourself.
        </p>
      )}
      <form method="post" action="/authorize" id="consent">
        <input type="hidden" name="handle" value={handle} />
        <div class="buttons">
          <button type="submit" name="decision" value="allow">
            Allow
          </button>
          {mayWrite && (
            <button type="submit" name="decision" value="allow-read" class="second">
              Allow reading only
            </button>
          )}
          <button type="submit" name="decision" value="deny" class="plain">
            Deny
          </button>
        </div>
        {mayWrite && (
          <p class="quiet">
            “Reading only” suits voice and other unattended assistants: such an application can never edit.
            You can disconnect it at any time on your account page.
          </p>
        )}
      </form>
    </section>,
  );
}
