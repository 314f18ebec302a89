import { RegistryError } from '../../schema/errors.ts';
import { checkPath, checkPaths } from '../../schema/path.ts';

/**
 * Checks a path below a root again on this device, whatever the registry has checked: an item's name or a persona's file, and
 * for an item the path within it.
 * @throws RegistryError `invalid_path`
 */
export function refusePath(path: string): void {
  const [name, ...within] = path.split('/');
  checkPath(name ?? '');
  if (within.length > 0) checkPath(within.join('/'));
}

/**
 * Checks the name and all paths of a folder, also against each other.
 * @throws RegistryError `invalid_path`, `path_collision`
 */
export function refuseFolder(name: string, files: readonly { path: string }[]): void {
  refusePath(name);
  if (name.includes('/'))
    throw new RegistryError('invalid_path', `"${name}" is no name of a folder; use one without slashes.`);
  checkPaths(files.map((file) => file.path));
}
