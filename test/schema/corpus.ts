import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Kind } from '../../schema/item.ts';

const root = fileURLToPath(new URL('../../../shared/corpus', import.meta.url));

/** Whether the public corpus lies beside the checkout; tests that need it are skipped where it does not. */
export const hasCorpus = existsSync(root);

export interface CorpusItem {
  kind: Kind;
  /** Below the corpus. */
  path: string;
  fallbackName: string;
  bytes: Uint8Array;
}

/** Main files of the corpus: 238 skills, 199 personas. */
export function corpusItems(): CorpusItem[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).flatMap((path): CorpusItem[] => {
    const bytes = () => new Uint8Array(readFileSync(join(root, path)));
    if (basename(path) === 'SKILL.md') {
      return [{ kind: 'skill', path, fallbackName: basename(dirname(path)), bytes: bytes() }];
    }
    if (basename(dirname(path)) === 'agents' && path.endsWith('.md')) {
      return [{ kind: 'persona', path, fallbackName: basename(path, '.md'), bytes: bytes() }];
    }
    return [];
  });
}
