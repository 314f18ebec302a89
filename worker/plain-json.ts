import { RegistryError } from '../schema/errors.ts';

interface Node {
  readonly value: unknown;
  readonly key: string;
  readonly above: Node | null;
}

/**
 * Refuses what JSON can say and nothing behind this door keeps: a key `__proto__`, which schemas drop without a word, and
 * half of a surrogate pair, which has no UTF-8. `where` names the value in the sentence. Any depth is looked through.
 * @throws RegistryError `invalid_input`
 */
export function requirePlainJson(value: unknown, where: string): void {
  const open: Node[] = [{ value, key: '', above: null }];
  for (let node = open.pop(); node; node = open.pop()) {
    if (typeof node.value === 'string' && !node.value.isWellFormed())
      throw refused(node, where, 'holds half of a surrogate pair; send valid Unicode');
    if (typeof node.value !== 'object' || node.value === null) continue;
    for (const [key, inside] of Object.entries(node.value)) {
      const child = { value: inside, key, above: node };
      if (key === '__proto__') throw refused(child, where, 'is a name that is not accepted; choose another');
      open.push(child);
    }
  }
}

function refused(node: Node, where: string, what: string): RegistryError {
  const keys: string[] = [];
  for (let at: Node = node; at.above; at = at.above) keys.unshift(at.key);
  const field = keys.slice(0, 10).join('.').slice(0, 200).toWellFormed();
  return new RegistryError(
    'invalid_input',
    `${field === '' ? `The ${where}` : `${field} in the ${where}`} ${what}.`,
    {
      ...(field === '' ? {} : { field }),
    },
  );
}
