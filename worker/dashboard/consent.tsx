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
  /** The server that it asks for; null for the registry itself. */
  server: string | null;
  /** Other servers whose tools come along with the registry's own. */
  alongside: readonly string[];
  /** Whether it asks to write, or could by asking for more. */
  mayWrite: boolean;
}

/**
 * Asks the person about an application. A plain form: it posts `handle` and `decision` (`allow`, `allow-read` or `deny`) to
 * `/authorize`.
 */
export function consentPage({ handle, client, account, scopes, server, alongside, mayWrite }: Consent): Page {
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
        {abilities({ scopes, server, alongside, mayWrite }).map((ability) => (
          <li>{ability}</li>
        ))}
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

/** What it may do, as the gateway and the tools hold it: a server knows no editing, and without writing no tool that changes anything. */
function abilities({
  scopes,
  server,
  alongside,
  mayWrite,
}: Pick<Consent, 'scopes' | 'server' | 'alongside' | 'mayWrite'>): string[] {
  const writes = scopes.includes('skills:write');
  const servers = server === null ? alongside : [server];
  const named = `your ${servers.length === 1 ? 'server' : 'servers'} ${servers.join(', ')}, with the access that you gave there`;
  const said: string[] = [SCOPE_WORDS['skills:read']];
  if (writes && server === null) said.push(SCOPE_WORDS['skills:write']);
  if (servers.length > 0) said.push(`Use ${writes ? 'every tool' : 'the tools that only read'} of ${named}`);
  if (mayWrite && !writes)
    said.push(
      server === null ? 'Ask you later to let it edit them' : 'Ask you later to let it use every tool',
    );
  return said;
}
