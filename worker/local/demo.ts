import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Local, startLocal } from './serve.ts';
import { StartError } from './start-error.ts';

const COMMAND = fileURLToPath(new URL('../../agent/main.ts', import.meta.url));
const SAMPLES = fileURLToPath(new URL('samples', import.meta.url));
const EDITED = 'release-notes';
const PATIENCE_MS = 30_000;

/** Two computers with different clients on them: their configuration folders are what the command looks for. */
const DEVICES = [
  { name: 'laptop', clients: ['.claude', '.codex'], reads: '.claude/skills' },
  { name: 'desktop', clients: ['.cursor', '.gemini'], reads: '.agents/skills' },
] as const;

interface Device {
  readonly name: string;
  readonly home: string;
  /** The file that the edit changes, as this device's clients read it. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Shows the whole way once, on throw-away folders that are gone afterwards: two devices are paired, the sample items
 * added, one edited over MCP, and the time until each device has it on disk printed beside both folder trees.
 * @throws StartError when a step fails
 */
export async function runDemo(say: (line: string) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'repertoire-demo-'));
  const daemons: ChildProcess[] = [];
  let local: Local | null = null;
  try {
    say('Starting the registry …');
    local = await startLocal({ port: 0, data: join(folder, 'registry') });
    const owner = ['--token-file', local.ownerFile];
    const devices = DEVICES.map((device) => toDevice(folder, device));
    for (const [index, device] of devices.entries()) {
      for (const client of DEVICES[index]?.clients ?? [])
        await mkdir(join(device.home, client), { recursive: true });
      say(`Pairing ${device.name} …`);
      await command(device, ['pair', local.url, '--name', device.name, ...owner]);
      const daemon = start(device, ['run']);
      daemon.stderr?.resume();
      daemons.push(daemon);
    }
    const [first] = devices as [Device];
    say('Adding the sample skills and personas …');
    await command(first, [
      'add',
      join(SAMPLES, 'skills'),
      join(SAMPLES, 'personas'),
      '--url',
      local.url,
      ...owner,
    ]);
    await Promise.all(
      devices.map((device) => until(device, (content) => content.includes(`name: ${EDITED}`))),
    );

    say(`Editing ${EDITED} over MCP …\n`);
    const arrivals = await editOverMcp(local, devices);
    for (const device of devices) say(`${device.name}\n${(await tree(device.home)).join('\n')}\n`);
    // Last, where a terminal of any height shows it.
    for (const { device, ms } of arrivals) {
      say(`  ${device.name.padEnd(8)} had it on disk ${ms.toFixed(0)} ms after the call was sent`);
    }
    say('\nBoth devices and the registry were temporary; "npm start" begins a real one.');
  } finally {
    for (const daemon of daemons) daemon.kill('SIGTERM');
    await Promise.all(daemons.map(ended));
    await local?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function toDevice(folder: string, { name, reads }: (typeof DEVICES)[number]): Device {
  const home = join(folder, name);
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    USERPROFILE: home,
    REPERTOIRE_STATE: join(folder, `${name}-state`),
  };
  return { name, home, file: join(home, reads, EDITED, 'SKILL.md'), env };
}

async function editOverMcp(
  local: Local,
  devices: readonly Device[],
): Promise<{ device: Device; ms: number }[]> {
  const client = new Client({ name: 'repertoire-demo', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${local.ownerToken}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${local.url}/mcp`), { requestInit }));
  try {
    await client.listTools();
    const description = `Use when asked to write release notes. Edited at ${new Date().toISOString()}.`;
    const began = performance.now();
    const arrivals = devices.map(async (device) => {
      await until(device, (content) => content.includes(description));
      return { device, ms: performance.now() - began };
    });
    const answer = await client.callTool({
      name: 'skill_edit',
      arguments: { action: 'edit', kind: 'skill', name: EDITED, description },
    });
    if (answer.isError) throw new StartError(`The edit was refused: ${JSON.stringify(answer.content)}`);
    return await Promise.all(arrivals);
  } finally {
    await client.close();
  }
}

async function until({ name, file }: Device, holds: (content: string) => boolean): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(1)) {
    if (holds(await readFile(file, 'utf8').catch(() => ''))) return;
  }
  throw new StartError(`${name} did not have the change on disk after ${PATIENCE_MS / 1000} seconds.`);
}

function start(device: Device, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [COMMAND, ...args], {
    env: device.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

async function command(device: Device, args: readonly string[]): Promise<void> {
  const child = start(device, args);
  const said = child.stderr ? text(child.stderr) : '';
  if ((await ended(child)) === 0) return;
  throw new StartError(
    `${await said}\`repertoire ${args[0]}\` failed on ${device.name}; its own message stands above.`,
  );
}

function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done) => child.once('exit', done));
}

/** Lines of a folder tree, without what is empty. */
async function tree(folder: string, indent = '  '): Promise<string[]> {
  const lines: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.repertoire')) continue;
    if (!entry.isDirectory()) lines.push(`${indent}${entry.name}`);
    else {
      const inside = await tree(join(folder, entry.name), `${indent}  `);
      if (inside.length > 0) lines.push(`${indent}${entry.name}/`, ...inside);
    }
  }
  return lines;
}
