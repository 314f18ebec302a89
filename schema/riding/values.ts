/** Ends reading with one sentence that names the manifest; `what` begins with the key in backticks and has no full stop. */
export type Refuse = (what: string) => never;

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An explicit null counts as an absent key. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** A sentence that names more than this is not read to its end. */
const MOST_NAMED = 20;

/** Refuses keys that nobody reads, in the order in which they stand. */
export function knownKeys(
  mapping: Record<string, unknown>,
  known: readonly string[],
  where: string | null,
  refuse: Refuse,
): void {
  const unknown = Object.keys(mapping).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  const place = where === null ? '' : ` in \`${where}\``;
  const more = unknown.length > MOST_NAMED ? ` and ${unknown.length - MOST_NAMED} more` : '';
  refuse(
    `${quote(unknown.slice(0, MOST_NAMED))}${more}${place} ${unknown.length === 1 ? 'is no known key' : 'are no known keys'}; known are ${quote(known)}`,
  );
}

export function quote(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

/** A text, or null when absent. */
export function readText(value: unknown, key: string, refuse: Refuse): string | null {
  if (isAbsent(value)) return null;
  if (typeof value !== 'string') refuse(`\`${key}\` must be text; put it in double quotes`);
  refuseNul(value, key, refuse);
  return value;
}

/** No program, path or header can be given a NUL, and errors about it would repeat the value. */
export function refuseNul(text: string, key: string, refuse: Refuse): void {
  if (text.includes('\0')) refuse(`\`${key}\` holds a NUL character; take it out`);
}

/** Texts by name; empty when absent. */
export function readTexts(value: unknown, key: string, refuse: Refuse): Record<string, string> {
  if (isAbsent(value)) return {};
  if (!isMapping(value)) refuse(`\`${key}\` must be a mapping of names to texts`);
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => {
      if (typeof text !== 'string') refuse(`\`${key}.${name}\` must be text; put it in double quotes`);
      refuseNul(name + text, `${key}.${name}`, refuse);
      return [name, text];
    }),
  );
}
