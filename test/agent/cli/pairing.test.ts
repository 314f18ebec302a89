import { cpSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { DeviceList } from '../../../schema/api.ts';
import { Setting, skill } from './harness.ts';

const setting = new Setting();

beforeAll(() => setting.startRegistry());
afterAll(() => setting.end());

function owner(...args: string[]): string[] {
  return [...args, '--token-file', setting.ownerFile];
}

test('pair shows code, link and words; approve shows the same and lets it in; unpair keeps every file', async () => {
  const computer = setting.computer('new-laptop');
  const admin = setting.computer('admin');
  const pairing = computer.start(['pair', setting.url, '--name', 'new-laptop']);
  const [, code = ''] = await pairing.saw(/Code +([A-Z]{4}-[A-Z]{4})/);
  const [, words] = await pairing.saw(/Fingerprint +(\S+)/);
  await pairing.saw(/Link +http\S+/);
  await pairing.saw(/Waiting for approval/);

  const unasked = await admin.run(owner('approve', code));
  expect([unasked.code, unasked.stdout]).toEqual([1, '']);
  expect(unasked.stderr).toMatch(
    /Computer +new-laptop\n +Platform +\w+ \w+\n +From +this computer\n +Asked +\S/,
  );
  expect(unasked.stderr).toContain(`Fingerprint  ${words}\n`);
  expect(unasked.stderr).toContain('Continue only if you started this on your own machine');

  expect((await admin.run(owner('approve', code.toLowerCase().replace('-', ''), '--yes'))).stdout).toBe(
    'new-laptop is paired.\n',
  );
  const paired = await pairing.ended;
  expect([paired.code, paired.stdout]).toEqual([
    0,
    `Paired with ${new URL(setting.url).host} as new-laptop.\n`,
  ]);
  expect(statSync(join(computer.home, 'state/device-key.json')).mode & 0o777).toBe(0o600);
  expect((await computer.run(['pair', setting.url])).stderr).toContain('Run "repertoire unpair" first.');

  computer.write({ '.claude/x': '', 'set/kept/SKILL.md': skill('kept') });
  await computer.run(['add', 'set']);
  expect((await computer.run(['run', '--once'])).stdout).toMatch(/^Synced \d folders: 1 written\.$/m);
  const refused = await computer.run(['approve', code, '--yes']);
  expect([refused.code, refused.stderr]).toMatchObject([
    1,
    expect.stringContaining('add --token-file owner.json'),
  ]);

  expect((await computer.run(['unpair'])).stdout).toContain('Every file stays where it is.');
  expect(readFileSync(join(computer.home, '.claude/skills/kept/SKILL.md'), 'utf8')).toBe(skill('kept'));
  expect(existsSync(join(computer.home, 'state/device-key.json'))).toBe(false);
  const devices = await admin.json<DeviceList>(owner('devices', '--all'));
  expect(devices.devices.find(({ name }) => name === 'new-laptop')?.revoked_at).not.toBeNull();
  expect((await admin.run(owner('devices'))).stdout).not.toContain('new-laptop');
  expect((await computer.run(['unpair'])).code).toBe(1);
});

test('deny ends the waiting with a sentence; Ctrl-C does, too', async () => {
  const stranger = setting.computer('stranger');
  const admin = setting.computer('admin-2');
  const pairing = stranger.start(['pair', setting.url]);
  const [, code = ''] = await pairing.saw(/Code +([A-Z]{4}-[A-Z]{4})/);
  expect((await admin.run(owner('deny', code))).stdout).toMatch(/ was turned away\.\n$/);
  expect(await pairing.ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The pairing was denied'),
  });

  const stopped = stranger.start(['pair', setting.url]);
  await stopped.saw(/Waiting for approval/);
  stopped.child.kill('SIGINT');
  expect(await stopped.ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing was changed'),
  });
  expect((await stranger.run(['list'])).stderr).toContain('This computer is not paired');
  expect((await admin.run(owner('approve', 'BBBB-BBBB', '--yes'))).stderr).toContain(
    'No device waits with the code BBBB-BBBB',
  );
});

test.each(['\u001b[2Jfriend', 'friend\u202E'])(
  'a name that could repaint the terminal is refused (%j)',
  async (name) => {
    const evil = setting.computer('evil');
    const refused = await evil.run(['pair', setting.url, '--name', name]);
    expect([refused.code, refused.stderr]).toMatchObject([1, expect.stringContaining('control characters')]);
    expect(refused.stderr).not.toContain(name);
  },
);

test('check 27: the agent follows changes, tells its status, ends with 0 when revoked and leaves its files', async () => {
  const laptop = await setting.paired('laptop');
  const desk = await setting.paired('desk');
  const agent = laptop.start(['run']);
  await agent.saw(/Listening for changes/);
  expect((await laptop.run(['status'])).stdout).toMatch(
    /^Agent +running \(process \d+\), listening for changes, last pass /m,
  );
  const again = await laptop.run(['run']);
  expect([again.code, again.stderr]).toMatchObject([
    1,
    expect.stringMatching(/The agent runs already \(process \d+\)\./),
  ]);

  desk.write({ 'new/SKILL.md': skill('new') });
  await desk.run(['add', 'new']);
  await agent.saw(/wrote skill new/);
  expect(readFileSync(join(laptop.home, '.claude/skills/new/SKILL.md'), 'utf8')).toBe(skill('new'));
  // With the agent running, `run --once` has it look again.
  expect((await laptop.run(['run', '--once'])).stdout).toMatch(/^Synced \d folders: nothing to do\.$/m);

  expect((await desk.run(owner('revoke', 'laptop', '--yes'))).stdout).toBe(
    'laptop has no access any more. Its files stay on it.\n',
  );
  expect(await agent.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('every file stays') });
  expect(existsSync(join(laptop.home, '.claude/skills/new/SKILL.md'))).toBe(true);
  const once = await laptop.run(['run', '--once']);
  expect([once.code, once.stderr.match(/was revoked/g)]).toEqual([1, ['was revoked']]);
  const after = await laptop.run(['status']);
  expect([after.code, after.stdout]).toMatchObject([0, expect.stringMatching(/^Waits +\S/m)]);
  expect(after.stdout).toMatch(/^Registry +.*, refuses this computer$/m);
  expect((await laptop.run(['pair', '--token-file', setting.ownerFile, '--name', 'laptop'])).code).toBe(0);
});

test('check 28: the agent whose place another machine took says so in status, and what to do', async () => {
  const original = await setting.paired('original');
  const agent = original.start(['run']);
  await agent.saw(/Listening for changes/);
  const copy = setting.computer('copy');
  // What the agent writes meanwhile may come and go under the copying.
  await vi.waitFor(
    () =>
      cpSync(join(original.home, 'state'), join(copy.home, 'state'), {
        recursive: true,
        filter: (path) => !path.endsWith('.sock'),
      }),
    60_000,
  );
  const other = copy.start(['run']);
  await other.saw(/Listening for changes/);
  await agent.saw(/Another machine listens with the key of this device/);
  const { stdout } = await original.run(['status']);
  expect(stdout).toMatch(/^Agent +running \(process \d+\), asking on a timer, since another machine/m);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Of two machines with one key one is a copy: "repertoire revoke original" ends both',
  );
  expect((await copy.run(['status'])).stdout).toContain('listening for changes');
  await setting.computer('owner').run(owner('revoke', 'original', '--yes'));
  // Without a socket it would find out with its next timer.
  await original.run(['run', '--once']);
  expect([(await agent.ended).code, (await other.ended).code]).toEqual([0, 0]);
});

test('Ctrl-C ends the agent cleanly', async () => {
  const computer = await setting.paired('stopping');
  const agent = computer.start(['run', '--json']);
  await agent.saw(/Listening for changes/);
  agent.child.kill('SIGINT');
  const { code, stdout } = await agent.ended;
  expect(code).toBe(0);
  for (const line of stdout.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('message');
});

test('unpair ends the agent, also where it only forgets; a device whose key is lost pairs again', async () => {
  const computer = await setting.paired('restless');
  for (const args of [['unpair', '--forget'], ['unpair']]) {
    const agent = computer.start(['run']);
    await agent.saw(/Listening for changes/);
    expect(await computer.run(args)).toMatchObject({ code: 0 });
    expect(await agent.ended).toMatchObject({ code: 0 });
    const again = await computer.run(['pair', '--token-file', setting.ownerFile, '--name', 'restless']);
    expect(again.code).toBe(0);
  }
  rmSync(join(computer.home, 'state/device-key.json'));
  const lost = await computer.run(['run', '--once']);
  expect([lost.code, lost.stderr]).toMatchObject([1, expect.stringContaining('repertoire pair URL')]);
  const again = await computer.run(['pair', '--token-file', setting.ownerFile, '--name', 'restless']);
  expect(again.code).toBe(0);
  expect((await computer.run(['run', '--once'])).code).toBe(0);
});
