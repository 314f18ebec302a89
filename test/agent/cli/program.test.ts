import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../../agent/version.ts';
import { buildProgram, type Computer, ROOT, Setting } from './harness.ts';

const setting = new Setting();
let computer: Computer;

beforeAll(async () => {
  await setting.ready();
  computer = setting.computer('empty');
});

afterAll(() => setting.end());

const COMMANDS = [
  'pair',
  'unpair',
  'run',
  'status',
  'resolve',
  'confirm',
  'mcp',
  'connect',
  'serve',
  'skills',
  'list',
  'search',
  'show',
  'add',
  'edit',
  'enable',
  'disable',
  'remove',
  'restore',
  'rename',
  'history',
  'guidelines',
  'devices',
  'approve',
  'deny',
  'revoke',
  'clients',
];

test('help names every command and fits 80 columns; each has examples', async () => {
  const { code, stdout } = await computer.run(['--help']);
  expect(code).toBe(0);
  expect([...stdout.matchAll(/^ {2}([a-z]+)( |$)/gm)].map(([, name]) => name)).toEqual(COMMANDS);
  for (const name of COMMANDS) {
    const help = await computer.run([name, '--help']);
    expect([name, help.code, help.stderr]).toEqual([name, 0, '']);
    expect(help.stdout).toMatch(new RegExp(`\\nExamples:\\n {2}repertoire ${name}`));
    for (const line of (stdout + help.stdout).split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  }
});

test('wrong usage ends with 2, one line and a pointer; nothing goes to stdout', async () => {
  for (const args of [
    ['lst'],
    ['list', '--no-such'],
    ['list', '--kind', 'thing'],
    ['show'],
    ['pair'],
    ['pair', 'not a url'],
    ['history', 'x', '--device', 'y'],
    ['add', 'x', '--confirm', 'nonsense'],
  ]) {
    const { code, stdout, stderr } = await computer.run(args);
    expect([args, code, stdout]).toEqual([args, 2, '']);
    expect(stderr).toMatch(/^\S/);
    expect(stderr).not.toMatch(/^\s+at /m);
  }
  expect(await computer.run([])).toMatchObject({ code: 2, stdout: '' });
});

test('the version is package.json’s', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  expect(VERSION).toBe(version);
  expect((await computer.run(['--version'])).stdout).toBe(`${version}\n`);
});

test('a person gets one sentence, the stack only with REPERTOIRE_DEBUG=1, and no secret', async () => {
  computer.write({
    'bad.json': '{"token": "rpt_secret',
    'lines.json': '{"url":"http://127.0.0.1:9","token":"rpt_secret\\nrpt_secret"}',
    'address.json': '{"url":"nonsense","token":"rpt_secret"}',
    'good.json': '{"url":"http://127.0.0.1:9","token":"rpt_secret"}',
  });
  for (const name of ['bad.json', 'lines.json', 'address.json']) {
    const broken = await computer.run(['list', '--token-file', name]);
    const path = join(computer.home, name);
    const sentence = `${path} is no token file: it holds no JSON with url and token.\n`;
    expect([broken.code, broken.stderr]).toEqual([1, sentence]);
  }
  const folder = await computer.run(['list', '--token-file', '.']);
  expect(folder.stderr).toBe(`${computer.home} is a folder, not a token file.\n`);
  const gone = await computer.run(['list', '--token-file', 'gone.json']);
  expect(gone.stderr).toBe(`${join(computer.home, 'gone.json')} does not exist.\n`);
  const away = await computer.run(['list', '--token-file', 'good.json'], { env: { REPERTOIRE_DEBUG: '1' } });
  expect(away.code).toBe(1);
  expect(away.stderr).toMatch(/^The registry at 127\.0\.0\.1:9 cannot be reached/);
  expect(away.stderr).toMatch(/^\s+at /m);
  expect(away.stderr).not.toContain('rpt_secret');
  const state = await computer.run(['status'], { env: { REPERTOIRE_STATE: 'relative' } });
  expect([state.code, state.stderr]).toEqual([
    1,
    'REPERTOIRE_STATE is "relative", but it must be a full path.\n',
  ]);
});

test('status works on a computer that has nothing, and leaves it so', async () => {
  const { code, stdout } = await computer.run(['status'], { env: { NO_COLOR: '1' } });
  expect(code).toBe(0);
  expect(stdout).toContain('not paired; "repertoire pair URL" pairs it');
  expect(stdout).not.toContain('\u001b');
  expect(await computer.json(['status'])).toMatchObject({ state_folder: join(computer.home, 'state') });
  expect(existsSync(join(computer.home, 'state'))).toBe(false);
});

test('connect writes the command that was started, and takes it back', async () => {
  mkdirSync(join(computer.home, '.cursor'));
  const file = join(computer.home, '.cursor/mcp.json');
  expect((await computer.run(['connect', 'cursor', '--dry-run'])).stdout).toContain('nothing was written.');
  expect(existsSync(file)).toBe(false);
  expect((await computer.run(['connect', 'cursor'])).code).toBe(0);
  const { mcpServers } = JSON.parse(readFileSync(file, 'utf8'));
  expect([mcpServers.repertoire.command, ...mcpServers.repertoire.args]).toEqual([
    process.execPath,
    computer.program,
    'mcp',
  ]);
  await computer.run(['connect', 'cursor', '--undo']);
  expect(existsSync(file)).toBe(false);
  expect((await computer.run(['connect', 'nothing'])).code).toBe(2);
});

test('the packed program runs from another folder, and holds nothing of the Worker', async () => {
  const folder = join(setting.folder, 'packed');
  const program = await buildProgram(folder);
  expect(readdirSync(folder)).toEqual(['repertoire.cjs']);
  expect(readFileSync(program, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [program, '--version'], {
    cwd: setting.folder,
    env: computer.env(),
  });
  expect(stdout).toBe(`${VERSION}\n`);

  const { metafile } = await build({
    entryPoints: [join(ROOT, 'agent/main.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  const inputs = Object.keys(metafile.inputs);
  expect(inputs.some((path) => path.includes('node_modules/commander/'))).toBe(true);
  expect(
    inputs.filter((path) => /(^|\/)(worker|test)\/|node_modules\/(hono|drizzle-orm|@libsql)\//.test(path)),
  ).toEqual([]);
});

test('an older Node is told so in one sentence', async () => {
  const shim = join(setting.folder, 'old.cjs');
  const program = JSON.stringify(computer.program);
  setting.computer('.').write({
    'old.cjs': `Object.defineProperty(process.versions, 'node', { value: '20.11.0' });\nrequire(${program});\n`,
  });
  const failed = await promisify(execFile)(process.execPath, [shim]).then(
    () => null,
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed?.stderr).toMatch(
    /^Repertoire needs Node 22\.12 or newer, and this is v[\d.]+; update Node\.\n$/,
  );
});

test('an older Node hands over to the one that the checkout brings along', async () => {
  const shim = join(setting.folder, 'checkout/dist/old.cjs');
  const node = join(setting.folder, 'checkout/node_modules/node/bin/node');
  mkdirSync(dirname(node), { recursive: true });
  symlinkSync(process.execPath, node);
  setting.computer('.').write({
    'checkout/dist/old.cjs': `
      if (!process.env.HANDED_OVER) Object.defineProperty(process.versions, 'node', { value: '20.11.0' });
      process.env.HANDED_OVER = '1';
      require(${JSON.stringify(computer.program)});
    `,
  });
  const { stdout } = await promisify(execFile)(process.execPath, [shim, '--version']);
  expect(stdout).toBe(`${VERSION}\n`);
});

test('a wrong call is told in sentences', async () => {
  expect(await computer.run(['lst'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Unknown command 'lst'; did you mean list\?\n/),
  });
  expect(await computer.run(['show'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Missing required argument 'name'\.\n/),
  });
});
