import type { Child } from 'hono/jsx';
import { visible } from '../../schema/visible.ts';
import { Outcome } from './layout.tsx';

/** One part of the account page. Its script tells what came of an act at the section's end. */
export function Section({
  id,
  title,
  about,
  children,
}: {
  id: string;
  title: string;
  about?: Child;
  children: Child;
}) {
  return (
    <section id={id} class="card" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} tabindex={-1}>
        {title}
      </h2>
      {about && <p class="quiet">{about}</p>}
      {children}
      <Outcome />
    </section>
  );
}

/** Things that get in, one below the other; `empty` says what to do where there is none. */
export function Entries({ label, empty, children }: { label: string; empty: Child; children: Child[] }) {
  if (children.length === 0) return <p class="empty">{empty}</p>;
  return (
    <ul class="entries" aria-label={label}>
      {children}
    </ul>
  );
}

export function Entry({
  name,
  marks = [],
  facts,
  children,
}: {
  name: Child;
  marks?: readonly (string | false)[];
  facts: readonly Child[];
  children?: Child;
}) {
  return (
    <li>
      <div class="what">
        <strong>{name}</strong>
        {marks.filter(Boolean).map((mark) => (
          <span class="mark">{mark}</span>
        ))}
        <p class="quiet">
          {facts.map((fact) => (
            <span class="fact">{fact}</span>
          ))}
        </p>
      </div>
      {children && <div class="acts">{children}</div>}
    </li>
  );
}

interface RevokeProps {
  /** Path under the API that is deleted. */
  path: string;
  /** What the button does to it. */
  verb: string;
  /** Name of the thing, as somebody chose it. */
  name: string;
  /** What will happen, told before it does. */
  ask: string;
  /** What has happened, told afterwards. */
  done: string;
  /** Where to go afterwards, when it is not here. */
  then?: string | undefined;
}

/** A button that ends something, after a question. `NAME` in the sentences stands for the name. */
export function Revoke({ path, verb, name, ask, done, then }: RevokeProps) {
  const shown = visible(name);
  return (
    <button
      type="button"
      class="second danger"
      aria-label={`${verb} ${shown}`}
      data-revoke={path}
      data-verb={verb}
      data-ask={ask.replaceAll('NAME', () => `“${shown}”`)}
      data-done={done.replaceAll('NAME', () => `“${shown}”`)}
      data-then={then}
    >
      {verb}
    </button>
  );
}

/** Room for what is shown only now, such as a token. */
export function ShownOnce({ label }: { label: string }) {
  return (
    <div class="once" data-shown="text" tabindex={-1} hidden>
      <p>
        <strong>{label}</strong> It is shown only now.
      </p>
      <output />
      <div class="buttons">
        <button type="button" class="second" data-copy>
          Copy
        </button>
      </div>
      <p class="outcome" role="status" />
    </div>
  );
}
