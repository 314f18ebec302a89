import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { ask, claimInstance, type Handler, type Instance } from '../../agent/instance.ts';

const module = fileURLToPath(new URL('../../agent/instance.ts', import.meta.url));

function freshAddress(): string {
  const folder = mkdtempSync(join(tmpdir(), 'repertoire-instance-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'state', 'agent.sock');
}

async function claim(address: string, handler: Handler = (message) => message): Promise<Instance | 'busy'> {
  const instance = await claimInstance(address, handler);
  if (instance !== 'busy') onTestFinished(() => instance.release());
  return instance;
}

/** Leaves behind what a killed agent leaves. */
async function killedAgent(address: string): Promise<void> {
  const code = `import(${JSON.stringify(module)}).then(async (m) => { await m.claimInstance(${JSON.stringify(address)}, () => 1); process.send('up'); });`;
  const script = join(address, '../../agent.mjs');
  writeFileSync(script, code);
  const child = fork(script);
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
}

test('one agent at a time', async () => {
  const address = freshAddress();
  const first = (await claim(address)) as Instance;
  expect(await claim(address)).toBe('busy');
  await first.release();
  expect(await claim(address)).not.toBe('busy');
});

test('only this user may connect', async () => {
  const address = freshAddress();
  await claim(address);
  expect(lstatSync(address).mode & 0o777).toBe(0o600);
  expect(lstatSync(join(address, '..')).mode & 0o777).toBe(0o700);
});

test('a killed agent does not block the next, and of many that start at once one wins', async () => {
  const address = freshAddress();
  await killedAgent(address);
  expect(existsSync(address)).toBe(true);
  const claims = await Promise.all(Array.from({ length: 8 }, () => claim(address)));
  expect(claims.filter((instance) => instance !== 'busy')).toHaveLength(1);
  expect(existsSync(`${address}.guard`)).toBe(false);
  expect(await ask(address, 'still there')).toBe('still there');
});

test('a guard whose owner died is not waited for', async () => {
  const address = freshAddress();
  await killedAgent(address);
  writeFileSync(`${address}.guard`, '');
  utimesSync(`${address}.guard`, 0, 0);
  expect(await claim(address)).not.toBe('busy');
});

test.runIf(process.getuid?.() === 0)('a socket folder of another user is refused', async () => {
  const address = freshAddress();
  execFileSync('mkdir', ['-m', '777', join(address, '..')]);
  execFileSync('chown', ['65534', join(address, '..')]);
  await expect(claim(address)).rejects.toThrow('belongs to someone else');
});

test('questions are answered', async () => {
  const address = freshAddress();
  await claim(address, async (message) => ({ got: message, long: 'é'.repeat(100_000) }));
  expect(await ask(address, { do: 'status', text: 'a\nb' })).toEqual({
    got: { do: 'status', text: 'a\nb' },
    long: 'é'.repeat(100_000),
  });
  const many = await Promise.all([1, 2, 3].map((n) => ask(address, n)));
  expect(many.map((answer) => (answer as { got: number }).got)).toEqual([1, 2, 3]);
});

test('where no agent runs, the answer is null', async () => {
  const address = freshAddress();
  expect(await ask(address, 'status')).toBeNull();
  await killedAgent(address);
  expect(await ask(address, 'status')).toBeNull();
});

test('a refusal reaches the asker as its sentence', async () => {
  const address = freshAddress();
  await claim(address, () => {
    throw new Error('Nothing to confirm.');
  });
  await expect(ask(address, 'confirm')).rejects.toThrow('Nothing to confirm.');
});

test('an agent that goes away in mid-answer is an error, not silence', async () => {
  const address = freshAddress();
  await claim(address, () => new Promise(() => {}));
  await expect(ask(address, 'status', 50)).rejects.toThrow('did not answer');
});

test('release hangs up on whoever still waits', async () => {
  const address = freshAddress();
  const instance = (await claim(address, () => new Promise(() => {}))) as Instance;
  const waiting = ask(address, 'status');
  waiting.catch(() => {});
  const other = createConnection(address);
  other.on('error', () => {});
  await once(other, 'connect');
  await instance.release();
  await expect(waiting).rejects.toThrow('did not answer');
  expect(await ask(address, 'status')).toBeNull();
});

test('noise and early hang-ups do not hurt the agent', async () => {
  const address = freshAddress();
  await claim(address);
  const noisy = createConnection(address);
  noisy.write('{"half');
  await once(noisy, 'connect');
  noisy.destroy();
  const wrong = createConnection(address);
  wrong.write('not json\n');
  const [answer] = await once(wrong, 'data');
  expect(JSON.parse(String(answer))).toHaveProperty('error');
  wrong.destroy();
  expect(await ask(address, 'fine')).toBe('fine');
});
