import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { StartError } from '../../schema/riding/diagnostic.ts';
import type { Upstream } from '../../schema/riding/upstream.ts';
import { fetchBounded } from './bounded.ts';

/** How a server is reached, with everything from the environment in its place. */
export interface Reach {
  /** For a person: the command, or the URL without its query. */
  readonly label: string;
  /** A transport that was not started yet. A command's own words go to `said`, a line at a time. */
  open(said: (line: string) => void): Transport;
}

/**
 * Looks up `${VAR}` in `env` and `headers`. A command starts in `cwd`, seen from the manifest's directory, or else where
 * we were started; of our environment it gets only what every program needs.
 * @throws StartError when a variable is not set, a header cannot be sent, or `cwd` is no directory
 */
export function reachServer(
  upstream: Upstream,
  { manifest, directory, env }: { manifest: string; directory: string; env: Environment },
): Reach {
  if (upstream.type === 'url') {
    const headers = fill(upstream.headers, 'headers', { manifest, env });
    for (const [name, value] of Object.entries(headers)) refuseHeader(name, value, manifest);
    const url = new URL(upstream.url);
    return {
      label: `${url.origin}${url.pathname}`,
      open: () => new StreamableHTTPClientTransport(url, { requestInit: { headers }, fetch: fetchBounded }),
    };
  }
  const { command, args, cwd } = upstream;
  const set = fill(upstream.env, 'env', { manifest, env });
  const where = cwd === null ? {} : { cwd: resolve(directory, cwd) };
  if (where.cwd !== undefined && !statSync(where.cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StartError(
      `${manifest}: cwd names ${JSON.stringify(cwd)}, and ${where.cwd} is no directory; make it, or take the key out.`,
    );
  }
  return {
    label: command,
    open(said) {
      const transport = new Program({
        command,
        args: [...args],
        env: set,
        stderr: 'pipe',
        ...where,
      });
      const { stderr } = transport;
      if (stderr) eachLine(stderr as Readable, said);
      return transport;
    },
  };
}

/**
 * The program is asked for its revision where it runs. With the class itself, a second program would be started to be asked,
 * which doubles the time until the first answer, and whatever the program does when it starts.
 */
class Program extends StdioClientTransport {}

/** Of a longer line, a person reads the beginning. Characters. */
const LINE_CHARS = 4000;

function eachLine(stream: Readable, said: (line: string) => void): void {
  let line = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const [end = '', ...others] = chunk.split('\n');
    line = (line + end).slice(0, LINE_CHARS);
    for (const other of others) {
      said(line.replace(/\r$/, ''));
      line = other.slice(0, LINE_CHARS);
    }
  });
  stream.on('end', () => {
    if (line !== '') said(line);
  });
}

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Without this, the value would stand in the error that is met when it is sent. */
function refuseHeader(name: string, value: string, manifest: string): void {
  if (!HEADER_NAME.test(name)) {
    throw new StartError(`${manifest}: headers has ${JSON.stringify(name)}, which is no name of a header.`);
  }
  if (HEADER_VALUE.test(value.trim())) return;
  throw new StartError(
    `${manifest}: headers.${name} holds a line break or another sign that no header can carry; take it out of the value, or of the variable that it comes from.`,
  );
}

type Environment = Readonly<Record<string, string | undefined>>;

function fill(
  values: Readonly<Record<string, string>>,
  key: 'env' | 'headers',
  { manifest, env }: { manifest: string; env: Environment },
): Record<string, string> {
  const filled = Object.entries(values).map(([name, value]) => [
    name,
    value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, variable: string) => {
      const found = env[variable];
      if (found !== undefined) return found;
      throw new StartError(
        `${manifest}: ${key}.${name} asks for the environment variable ${variable}, which is not set; set it and start again.`,
      );
    }),
  ]);
  return Object.fromEntries(filled);
}
