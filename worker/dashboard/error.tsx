import { visible } from '../../schema/visible.ts';
import { type Page, page } from './layout.tsx';

/** Where a way ends that cannot go on: in words, on our own page. `message` may hold foreign text. */
export function errorPage({ title, message }: { title: string; message: string }): Page {
  return page(
    { title },
    <section class="card">
      <h1>{title}</h1>
      <p>{visible(message)}</p>
      <p>
        <a href="/">To the start page</a>
      </p>
    </section>,
  );
}
