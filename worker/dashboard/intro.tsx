import { type Page, page } from './layout.tsx';

/** For somebody who is not signed in. */
export function introPage(origin: string): Page {
  return page(
    { title: 'Your skills and personas, everywhere' },
    <>
      <section class="hero">
        <h1>Your skills and personas, in every AI client, on every device.</h1>
        <p>
          Write a skill (how to do something) or a persona (who to be) once. It shows up in the folders that
          your AI tools read, on each paired computer, and in claude.ai, ChatGPT and every other MCP client.
        </p>
        <p class="buttons">
          <a class="button" href="/login">
            Sign in
          </a>
        </p>
      </section>
      <section class="card">
        <h2>Connect</h2>
        <dl class="facts">
          <dt>MCP clients</dt>
          <dd>
            <code>{origin}/mcp</code>
          </dd>
          <dt>Computers</dt>
          <dd>
            <code>repertoire pair {origin}</code>
          </dd>
        </dl>
      </section>
    </>,
  );
}

/** {@link introPage} for a terminal. */
export function introText(origin: string): string {
  return [
    'This is Repertoire: your skills and personas, in every AI client, on every device.',
    '',
    `MCP clients connect to ${origin}/mcp.`,
    `A computer is paired with: repertoire pair ${origin}`,
    '',
  ].join('\n');
}
