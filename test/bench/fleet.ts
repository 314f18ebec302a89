import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { runDaemon } from '../../agent/daemon.ts';
import { pair } from '../../agent/pairing.ts';
import { platformPaths } from '../../agent/platform.ts';
import { stateFiles } from '../../agent/state.ts';
import { readOrder, serveParent } from './child.ts';
import { observe } from './observe.ts';

export interface FleetOrder {
  url: string;
  token: string;
  folder: string;
  devices: number;
  /** The skill whose SKILL.md is watched. */
  skill: string;
  /** Bare clients of the floor's Worker in place of agents. */
  bare: boolean;
}

/** Client folders of every device: Claude Code reads the first, Codex the second. */
const FOLDERS = ['.claude/skills', '.agents/skills'] as const;

const { url, token, folder, devices, skill, bare } = readOrder<FleetOrder>();
const stop = new AbortController();
const homes = Array.from({ length: devices }, (_, n) => join(folder, `device-${n}`));
const agents: Promise<unknown>[] = [];
for (const home of homes) {
  const file = (at: string) => join(home, at, skill, 'SKILL.md');
  if (bare) await listenBarely(FOLDERS.map(file));
  else agents.push((await startAgent(home)).running);
}
const observer = await observe(
  homes.map((home) => FOLDERS.map((at) => join(home, at, skill))),
  'SKILL.md',
);
serveParent(
  null,
  async (question) => observer.next(question as string),
  async () => {
    observer.close();
    stop.abort();
    await Promise.all(agents);
  },
);

/** A device as a person has it: paired with a key of its own, and the agent on its folders. Resolves when it listens. */
async function startAgent(home: string): Promise<{ running: Promise<unknown> }> {
  for (const client of ['.claude', '.codex']) await mkdir(join(home, client), { recursive: true });
  const platform = process.platform as 'linux' | 'darwin' | 'win32';
  const paths = platformPaths({ platform, env: { REPERTOIRE_STATE: join(home, 'state') }, home });
  const name = home;
  await pair({ files: stateFiles(paths.state), url, name, platform, approveWith: token, onCode() {} });
  return new Promise((listening) => {
    const running = runDaemon({
      paths,
      machine: { env: {}, home, platform },
      version: 'bench',
      signal: stop.signal,
      log: ({ level, message }) => {
        if (level === 'warn') process.stderr.write(`${message}\n`);
        if (message === 'Listening for changes.') listening({ running });
      },
    });
  });
}

/** One socket; on a ring one pull, and one synced write per folder. */
async function listenBarely(files: readonly string[]): Promise<void> {
  for (const file of files) {
    await mkdir(join(file, '..'), { recursive: true });
    await write(file, '');
  }
  const socket = new WebSocket(`${url.replace('http', 'ws')}/listen`, { perMessageDeflate: false });
  stop.signal.addEventListener('abort', () => socket.terminate());
  socket.on('message', async () => {
    const text = await (await fetch(`${url}/pull`)).text();
    await Promise.all(files.map((file) => write(file, text)));
  });
  await new Promise((opened) => socket.once('open', opened));
}

async function write(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w');
  await file.writeFile(text);
  await file.sync();
  await file.close();
  await rename(`${path}.new`, path);
}
