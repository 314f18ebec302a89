import { oneLine } from '../../schema/visible.ts';

const LONGEST = 120;

/**
 * Text that somebody else chose, on one line: nothing hidden in it, and nothing in it reorders the page around it. What is
 * longer than a name ought to be is cut, for a name must not push the facts about it out of sight. An address is shown
 * `whole`: its end is what counts.
 */
export function Foreign({ children, whole = false }: { children: string; whole?: boolean }) {
  const text = oneLine(children);
  const letters = [...text];
  const cut = !whole && letters.length > LONGEST;
  return <bdi>{cut ? `${letters.slice(0, LONGEST).join('')}…` : text || '(no name)'}</bdi>;
}
