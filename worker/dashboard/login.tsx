import { Outcome, type Page, page } from './layout.tsx';

interface Login {
  /** Address of this origin to go to afterwards. */
  next: string;
  /** Name of another issuer that signs people in here, where one is configured. */
  issuer: string | null;
  /** Whether Cloudflare Access does, too. */
  behindAccess: boolean;
}

export function loginPage({ next, issuer, behindAccess }: Login): Page {
  const { pathname, search } = new URL(next);
  return page(
    { title: 'Sign in', passkeys: true, script: 'login.js' },
    <section class="card" id="login" data-next={next}>
      <h1>Sign in</h1>
      <div class="buttons">
        <button type="button" id="with-passkey">
          Sign in with a passkey
        </button>
        {issuer !== null && (
          <a
            class="button second"
            href={`/auth/oidc/start?return_to=${encodeURIComponent(pathname + search)}`}
          >
            Sign in with {issuer}
          </a>
        )}
        {behindAccess && (
          <button type="button" class="second" id="with-access">
            Sign in with Cloudflare Access
          </button>
        )}
      </div>
      <details>
        <summary>I have lost my passkey</summary>
        <form id="with-code">
          <label for="code">Recovery code</label>
          <input
            id="code"
            name="code"
            required
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            aria-describedby="code-hint"
          />
          <p class="quiet" id="code-hint">
            One of the eight that you kept when you made your passkey. Each works once.
          </p>
          <button type="submit" class="second">
            Sign in with the code
          </button>
          <p class="quiet">
            No code either? Whoever runs this registry can make a new link with{' '}
            <code>npm run owner-link</code>.
          </p>
        </form>
      </details>
      <Outcome />
    </section>,
  );
}
