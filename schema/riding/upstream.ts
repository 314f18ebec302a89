import { isAbsent, type Refuse, readText, readTexts, refuseNul } from './values.ts';

/** The server that a manifest is around. `${VAR}` in values of `env` and `headers` is not yet replaced. */
export type Upstream =
  | {
      readonly type: 'command';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | null;
    }
  | { readonly type: 'url'; readonly url: string; readonly headers: Readonly<Record<string, string>> };

const GOES_WITH = { args: 'command', env: 'command', cwd: 'command', headers: 'url' } as const;

/** Reads `command` or `url` with the keys that go with it; null when there is neither. `args` are the texts of that list. */
export function readUpstream(
  data: Readonly<Record<string, unknown>>,
  args: readonly (string | undefined)[] | undefined,
  refuse: Refuse,
): Upstream | null {
  const command = readText(data.command, 'command', refuse);
  const url = readText(data.url, 'url', refuse);
  if (command !== null && url !== null) refuse('`command` and `url` exclude each other; remove one');
  for (const [key, owner] of Object.entries(GOES_WITH)) {
    if (!isAbsent(data[key]) && isAbsent(data[owner]))
      refuse(`\`${key}\` goes with \`${owner}\`, which is not there`);
  }
  if (command !== null) {
    if (command.trim() === '') refuse('`command` is empty; write the program to start');
    return {
      type: 'command',
      command,
      args: readArgs(data.args, args, refuse),
      env: readTexts(data.env, 'env', refuse),
      cwd: readText(data.cwd, 'cwd', refuse),
    };
  }
  if (url === null) return null;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    refuse('`url` must be an http or https address');
  }
  const { username, password } = new URL(url);
  if (username !== '' || password !== '')
    refuse('`url` holds a user name or a password; take it out, and send it in a header instead');
  return { type: 'url', url, headers: readTexts(data.headers, 'headers', refuse) };
}

/** Numbers and booleans count as they are written, so that `[--port, 8080]` needs no quotes. */
function readArgs(
  value: unknown,
  texts: readonly (string | undefined)[] | undefined,
  refuse: Refuse,
): string[] {
  if (isAbsent(value)) return [];
  if (texts === undefined) refuse('`args` must be a list of texts');
  return texts.map((text, index) => {
    if (text === undefined) refuse(`\`args[${index}]\` must be text; put it in double quotes`);
    refuseNul(text, `args[${index}]`, refuse);
    return text;
  });
}
