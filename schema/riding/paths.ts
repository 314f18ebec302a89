/**
 * A declared path as an absolute one: as is when it is absolute, under `home` for `~/`, else joined to the manifest's
 * directory (so too for `~/` without a home). `../` is allowed; there is no `~user` and no variable. `directory` is
 * absolute, and its form says whether paths are Windows ones.
 */
export function resolveSkillsPath(
  raw: string,
  place: { directory: string; home: string | undefined },
): string {
  const { directory, home } = place;
  const windows = /^(?:[a-z]:[\\/]|\\\\)/i.test(directory);
  const absolute = windows ? /^(?:[a-z]:)?[\\/]/i : /^\//;
  if (absolute.test(raw)) return raw;
  if (home && (windows ? /^~[\\/]/ : /^~\//).test(raw)) return join(home, raw.slice(2), windows);
  return join(directory, raw, windows);
}

/** The project layer's directory: `<stem>.skills` beside the manifest, the stem being its name without the last extension. */
export function projectDirectory(manifest: string): string {
  return `${manifest.replace(/([^\\/])\.[^.\\/]*$/, '$1')}.skills`;
}

function join(directory: string, raw: string, windows: boolean): string {
  const separator = windows ? '\\' : '/';
  const root =
    (windows ? /^(?:[a-z]:[\\/]|\\\\[^\\/]+[\\/]+[^\\/]+[\\/]?)/i : /^\//).exec(directory)?.[0] ?? '';
  const segments: string[] = [];
  for (const segment of `${directory.slice(root.length)}${separator}${raw}`.split(
    windows ? /[\\/]+/ : /\/+/,
  )) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return root.replace(/[\\/]$/, '') + separator + segments.join(separator);
}
