/** A configuration in one notation, edited by span: every byte outside the edited server stays. */
export interface Format {
  /** The whole as values; an empty text is an empty object. @throws when it is not in the notation. */
  parse(text: string): Record<string, unknown>;
  /** Adds a server; `at` is the container's key and the server's name. */
  put(text: string, at: ServerPath, entry: Record<string, unknown>): string;
  /** Takes a server out, and with `emptied` its container where nothing else is in it. */
  drop(text: string, at: ServerPath, options: { emptied: boolean }): string;
}

export type ServerPath = readonly [container: string, name: string];

/** The one place in which two texts differ. */
export interface Span {
  before: string;
  after: string;
}

/** What turned one text into another, without what is around it. */
export function changedSpan(before: string, after: string): Span {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return {
    before: before.slice(start, before.length - end),
    after: after.slice(start, after.length - end),
  };
}

/** Takes a change back where its text still stands, exactly once; null elsewhere. */
export function revertSpan(text: string, { before, after }: Span): string | null {
  const at = text.indexOf(after);
  if (after === '' || at < 0 || text.indexOf(after, at + 1) >= 0) return null;
  return text.slice(0, at) + before + text.slice(at + after.length);
}

/** A change for a person: lines that go and lines that come, and nothing of the file around them. */
export function showSpan(path: string, { before, after }: Span): string {
  const marked = (mark: string, text: string) =>
    text
      .split(/\r?\n/)
      .filter((line) => line.trim() !== '')
      .map((line) => `${mark} ${line}`);
  return [path, ...marked('-', before), ...marked('+', after)].join('\n');
}

/** The line end that a text uses. */
export function lineEnd(text: string): '\r\n' | '\n' {
  return text.includes('\r\n') ? '\r\n' : '\n';
}
