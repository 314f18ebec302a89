import {
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { RegistryError } from '../../../schema/errors.ts';
import { decodeText, readFrontMatter } from '../../../schema/frontmatter.ts';
import { type Kind, LIMITS, MAIN_FILE } from '../../../schema/item.ts';
import { linkStub } from './stub.ts';

/** Something on disk that is to become an item. */
export interface Source {
  kind: Kind;
  /** As the person reaches it. */
  path: string;
  /** Where the item's files are, links resolved. For a persona that is one file, the file. */
  real: string;
  shape: 'folder' | 'file';
  /** Name of the folder, or of the file without its extension: the item's, where its front matter has none. */
  fallbackName: string;
  /** Folder inside which links may lead. */
  within: string;
}

/** A path that is no item although it looks like one; `reason` is one sentence without the path. */
interface Misfit {
  path: string;
  reason: string;
}

export interface Found {
  sources: Source[];
  misfits: Misfit[];
}

/** Folders of folders of skills, as plugin collections have them; deeper lies nothing that a person meant. */
const DEEPEST = 8;
const NEVER = new Set(['.git', 'node_modules']);

/**
 * What a path holds: one item, or all items below it, in the order of their paths. A folder with SKILL.md is a skill, one
 * with PERSONA.md a persona; so is each `.md` file with front matter in a folder named `agents`. `kind` decides for files
 * that say neither, and leaves the other kind out. What lies inside an item belongs to it.
 * Links to folders are followed where they lead straight to an item.
 */
export function findSources(path: string, kind?: Kind): Found {
  const search = new Search(path, kind);
  search.start();
  return search;
}

class Search implements Found {
  readonly sources: Source[] = [];
  readonly misfits: Misfit[] = [];
  readonly #root: string;
  readonly #kind: Kind | undefined;
  readonly #within: string;

  constructor(root: string, kind: Kind | undefined) {
    this.#root = resolve(root);
    this.#kind = kind;
    const real = realpathSync(root);
    this.#within = statSync(real).isDirectory() ? real : dirname(real);
  }

  start(): void {
    if (statSync(this.#root).isDirectory()) this.#folder(this.#root, 0);
    else this.#namedFile(this.#root);
    if (this.sources.length + this.misfits.length === 0) {
      const what = this.#kind ?? 'skill or persona';
      this.#misfit(
        this.#root,
        `holds no ${what}: a skill is a folder with SKILL.md, a persona a folder with PERSONA.md or a .md file with front matter in a folder named agents (--kind persona takes any).`,
      );
    }
  }

  #folder(path: string, depth: number): void {
    const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    if (this.#item(path, entries)) return;
    const personas = this.#takesFiles(path);
    for (const entry of entries) {
      const full = join(path, entry.name);
      if (entry.isSymbolicLink()) this.#link(full, personas);
      else if (entry.isDirectory() && !NEVER.has(entry.name) && depth < DEEPEST)
        this.#tryFolder(full, depth + 1);
      else if (entry.isFile() && personas && isMarkdown(entry.name)) this.#persona(full);
      else if (entry.isFile()) this.#stub(full);
    }
  }

  #tryFolder(path: string, depth: number): void {
    try {
      this.#folder(path, depth);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENOENT') throw error;
      this.#misfit(path, 'cannot be read.');
    }
  }

  /** True when the folder is an item, wanted or not: then nothing in it is one of its own. */
  #item(path: string, entries: readonly Dirent[]): boolean {
    const kinds = (Object.keys(MAIN_FILE) as Kind[]).filter((kind) =>
      entries.some(({ name }) => name.toLowerCase() === MAIN_FILE[kind].toLowerCase()),
    );
    const [kind] = kinds;
    if (kind === undefined) return false;
    if (kinds.length > 1 && this.#kind === undefined) {
      this.#misfit(path, 'holds both SKILL.md and PERSONA.md; say which it is with --kind.');
    } else if (this.#kind === undefined || kinds.includes(this.#kind)) {
      this.#add({ kind: this.#kind ?? kind, path, shape: 'folder', fallbackName: basename(path) });
    }
    return true;
  }

  #link(path: string, personas: boolean): void {
    const stat = tryStat(path);
    if (!stat) this.#misfit(path, 'is a link that leads nowhere.');
    else if (stat.isDirectory()) this.#item(path, readdirSync(path, { withFileTypes: true }));
    else if (stat.isFile() && personas && isMarkdown(path)) this.#persona(path);
  }

  #takesFiles(folder: string): boolean {
    if (this.#kind === 'skill') return false;
    return basename(folder) === 'agents' || (this.#kind === 'persona' && folder === this.#root);
  }

  /** A file that the person named. */
  #namedFile(path: string): void {
    const name = basename(path).toLowerCase();
    for (const kind of Object.keys(MAIN_FILE) as Kind[]) {
      if (name !== MAIN_FILE[kind].toLowerCase() || (this.#kind ?? kind) !== kind) continue;
      const folder = dirname(path);
      this.#add({ kind, path: folder, shape: 'folder', fallbackName: basename(folder) });
      return;
    }
    if (!isMarkdown(path)) return;
    const inAgents = basename(dirname(path)) === 'agents';
    if (this.#kind === 'persona' || (inAgents && this.#kind === undefined)) {
      this.#add({ kind: 'persona', path, shape: 'file', fallbackName: withoutExtension(path) });
    } else {
      this.#misfit(
        path,
        'is neither SKILL.md nor a persona in a folder named agents; if it is one, say --kind persona.',
      );
    }
  }

  /** A file without front matter among personas is a note of its owner, such as README.md. */
  #persona(path: string): void {
    if (lstatSync(path).isFile() && this.#stub(path)) return;
    const size = statSync(path).size;
    if (size <= LIMITS.fileBytes && !hasFrontMatter(path)) return;
    this.#add({ kind: 'persona', path, shape: 'file', fallbackName: withoutExtension(path) });
  }

  /** True when the file is a link that git wrote as text. Only one that leads to an item is worth a word. */
  #stub(path: string): boolean {
    const target = linkStub(path);
    if (target === null) return false;
    const stat = statSync(resolve(dirname(path), target), { throwIfNoEntry: false });
    if (stat === undefined && !isMarkdown(path)) return false;
    this.#misfit(path, stubReason(target));
    return true;
  }

  #add(source: Omit<Source, 'real' | 'within'>): void {
    const real = realpathSync(source.path);
    // An item that the person linked in from elsewhere is a folder of its own.
    const folder = source.shape === 'folder' ? real : dirname(real);
    this.sources.push({ ...source, real, within: isInside(this.#within, folder) ? this.#within : folder });
  }

  #misfit(path: string, reason: string): void {
    this.misfits.push({ path, reason });
  }
}

/** Whether a path is a folder or lies below it. Both absolute, links resolved. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

export function stubReason(target: string): string {
  return `is a link to ${target} that git wrote as a text file; check the repository out with links ("git config core.symlinks true", then "git checkout .").`;
}

/** Null where a link leads nowhere, or in a circle. */
function tryStat(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function hasFrontMatter(path: string): boolean {
  const text = decodeText(readFileSync(path));
  if (text === null) return false;
  try {
    return readFrontMatter(text).source !== null;
  } catch (error) {
    // Refused front matter is front matter: the import says what is wrong with it.
    if (error instanceof RegistryError) return true;
    throw error;
  }
}

function isMarkdown(path: string): boolean {
  return /\.md$/i.test(path);
}

function withoutExtension(path: string): string {
  return basename(path).replace(/\.md$/i, '');
}
