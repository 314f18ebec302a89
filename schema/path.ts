import { RegistryError } from './errors.ts';

const MAX_SEGMENT_BYTES = 200;
const MAX_DEPTH = 12;

/** Control, format (zero-width, bidi, tags), half surrogates, line separators, and fillers that show nothing. */
const INVISIBLE = /[\u034F\u115F\u1160\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u3164\uFFA0]/u;
const DEVICE = /^(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9¹²³]|CONIN\$|CONOUT\$)$/i;

/**
 * Checks the path of a file within an item: relative, `/` between segments, valid on Linux, macOS and Windows alike.
 * Paths are refused, never rewritten.
 * @throws RegistryError `invalid_path`
 */
export function checkPath(path: string): void {
  const problem = pathProblem(path);
  if (problem === null) return;
  const shown = JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
  throw new RegistryError('invalid_path', `The path ${shown} ${problem}; rename the file.`, { path });
}

/**
 * What two paths have in common when some file system takes them for one: letter case, Unicode form, compatibility
 * characters (node-tar CVE-2026-23950).
 */
export function collisionKey(path: string): string {
  return path.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFC');
}

/**
 * Checks all paths of an item, and that no two of them, nor the folders above them, are one on some file system.
 * @throws RegistryError `invalid_path`, `path_collision`
 */
export function checkPaths(paths: readonly string[]): void {
  const seen = new Map<string, { prefix: string; path: string; isFile: boolean }>();
  for (const path of paths) {
    checkPath(path);
    const segments = path.split('/');
    for (let depth = 1; depth <= segments.length; depth++) {
      const prefix = segments.slice(0, depth).join('/');
      const isFile = depth === segments.length;
      const key = collisionKey(prefix);
      const other = seen.get(key);
      if (!other) {
        seen.set(key, { prefix, path, isFile });
      } else if (other.prefix !== prefix || other.isFile || isFile) {
        throw new RegistryError(
          'path_collision',
          `The paths ${JSON.stringify(other.path)} and ${JSON.stringify(path)} cannot both exist on every computer; rename one.`,
          { path },
        );
      }
    }
  }
}

function pathProblem(path: string): string | null {
  if (INVISIBLE.test(path)) return 'has an invisible or control character';
  if (path !== path.normalize('NFC')) return 'is not in Unicode normal form NFC';
  const forbidden = /[<>:"|?*\\]/.exec(path);
  if (forbidden) return `has the character ${forbidden[0]}, which Windows does not allow`;
  const segments = path.split('/');
  if (segments.length > MAX_DEPTH) return `is more than ${MAX_DEPTH} levels deep`;
  for (const segment of segments) {
    if (segment === '' || segment === '.' || segment === '..') return 'is not a plain relative path';
    if (/[. ]$/.test(segment))
      return 'has a name that ends in a dot or a space, which Windows does not allow';
    if (DEVICE.test((segment.split('.')[0] as string).trimEnd()))
      return 'has a name that is a Windows device';
    if (/^\.git$/i.test(segment)) return 'leads into a .git folder';
    // Windows reaches `.git` as `GIT~1`, and others by such short names.
    if (/~\d/.test(segment)) return 'has a name that looks like a Windows short name (~1)';
    if (new TextEncoder().encode(segment).length > MAX_SEGMENT_BYTES) {
      return `has a name of more than ${MAX_SEGMENT_BYTES} bytes`;
    }
  }
  return null;
}
