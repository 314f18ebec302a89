import { oneLine } from '../../schema/visible.ts';

const LONGEST = 120;

/**
 * Text that somebody else chose, on one line: nothing hidden in it, and nothing in it reorders the page around it. What is
 * longer than a name ought to be is cut, for a name must not push the facts about it out of sight.
 */
export function Foreign({ children }: { children: string }) {
  const text = oneLine(children);
  const letters = [...text];
  return (
    <bdi>{letters.length > LONGEST ? `${letters.slice(0, LONGEST).join('')}…` : text || '(no name)'}</bdi>
  );
}
