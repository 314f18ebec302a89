import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import { Foreign } from './foreign.tsx';

/** A whole document, for `c.html`. */
export type Page = ReturnType<typeof html>;

interface Frame {
  title: string;
  /** Name of the account that is signed in. */
  account?: string | undefined;
  /** The page's own address, where the navigation has it. */
  at?: (typeof PLACES)[number][0];
  /** Whether the page has a passkey made or checked. */
  passkeys?: boolean;
  /** Name of the page's own script under `/assets`. */
  script?: string;
  /** Takes the width that lists need. */
  wide?: boolean;
}

const PLACES = [
  ['/account', 'Account'],
  ['/pair', 'Pair a device'],
] as const;

/** The frame that every page stands in. */
export function page(frame: Frame, content: Child): Page {
  const { title, account, at, passkeys = false, script, wide = false } = frame;
  return html`<!doctype html>${(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{title} · Repertoire</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/style.css" />
        {passkeys && <script src="/assets/webauthn.js" defer />}
        <script src="/assets/page.js" type="module" />
        {script && <script src={`/assets/${script}`} type="module" />}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header class="bar">
          <a class="brand" href="/">
            <img src="/assets/icon.svg" alt="" width="28" height="28" />
            <span>Repertoire</span>
          </a>
          {account !== undefined && <Signed account={account} at={at} />}
        </header>
        <main id="main" class={wide ? 'wide' : undefined} tabindex={-1}>
          {content}
          {passkeys && (
            <noscript>
              <p class="notice">This page needs JavaScript: passkeys cannot be used without it.</p>
            </noscript>
          )}
        </main>
        <footer>
          <p>Your skills and personas, in every AI client, on every device.</p>
        </footer>
      </body>
    </html>
  )}`;
}

function Signed({ account, at }: { account: string; at: Frame['at'] }) {
  return (
    <>
      <nav class="places" aria-label="Main">
        {PLACES.map(([path, name]) => (
          <a href={path} aria-current={path === at ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <div class="who">
        <span class="account">
          <span class="quiet">Signed in as </span>
          <Foreign>{account}</Foreign>
        </span>
        <button type="button" class="plain" id="sign-out">
          Sign out
        </button>
      </div>
    </>
  );
}

/** Where a script tells what came of an act: read out, since a screen reader's user does not see it appear. */
export function Outcome() {
  return <p class="outcome" role="alert" />;
}
