import { isAbsolute, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { StartError } from '../../schema/riding/diagnostic.ts';
import type { Upstream } from '../../schema/riding/manifest.ts';

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
 * @throws StartError when a variable is not set
 */
export function reachServer(
  upstream: Upstream,
  { manifest, directory, env }: { manifest: string; directory: string; env: Environment },
): Reach {
  if (upstream.type === 'url') {
    const headers = fill(upstream.headers, 'headers', { manifest, env });
    const url = new URL(upstream.url);
    return {
      label: `${url.origin}${url.pathname}`,
      open: () => new StreamableHTTPClientTransport(url, { requestInit: { headers } }),
    };
  }
  const { command, args, cwd } = upstream;
  const set = fill(upstream.env, 'env', { manifest, env });
  const where = cwd === null ? {} : { cwd: isAbsolute(cwd) ? cwd : resolve(directory, cwd) };
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
      if (stderr) createInterface({ input: stderr as Readable }).on('line', said);
      return transport;
    },
  };
}

/**
 * The program is asked for its revision where it runs. With the class itself, a second program would be started to be asked,
 * which doubles the time until the first answer, and whatever the program does when it starts.
 */
class Program extends StdioClientTransport {}

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
