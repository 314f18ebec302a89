import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { runDaemon } from '../../agent/daemon.ts';
import { ask } from '../../agent/instance.ts';
import { openMirror } from '../../agent/mirror.ts';
import { pair } from '../../agent/pairing.ts';
import { createFolders } from '../../agent/pass.ts';
import type { Registry } from '../../agent/registry.ts';
import { changeSettings, forgetDevice, openRecords, readCondition, rewindKey } from '../../agent/state.ts';
import { AccountEventList } from '../../schema/account.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Local } from '../../worker/local/serve.ts';
import { startRegistry, TestDevice, until } from './registry.ts';

let local: Local;
let owner: Registry;

beforeAll(async () => {
  ({ local, owner } = await startRegistry());
});

/** Each test has items of its own in the one registry. */
let serial = 0;
const fresh = (label: string) => `${label}-${++serial}`;

async function create(name: string, instructions = 'Say hi.') {
  const { item } = await owner.create({ kind: 'skill', name, description: 'a test', instructions });
  return item;
}

async function edit(name: string, instructions: string) {
  const ref = { kind: 'skill', name } as const;
  const { revision } = await owner.item(ref);
  return owner.edit(ref, { expected_revision: revision, instructions });
}

async function remove(name: string) {
  const ref = { kind: 'skill', name } as const;
  const { revision } = await owner.item(ref);
  return owner.remove(ref, revision);
}

const text = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

describe('an edit', () => {
  it('is on the disk of every listening device, which reports what it read back', async () => {
    const name = fresh('everywhere');
    const { digest } = await create(name);
    const [one, two] = await Promise.all([
      TestDevice.pair(local, ['.claude']),
      TestDevice.pair(local, ['.codex', '.cursor']),
    ]);
    await Promise.all([one.start(), two.start()]);
    const files = [
      one.path('.claude/skills', name, 'SKILL.md'),
      two.path('.agents/skills', name, 'SKILL.md'),
    ];
    await until(() => files.every(existsSync));
    const { item } = await edit(name, 'Say hello.');
    expect(item.digest).not.toBe(digest);
    await until(() => files.every((file) => text(file).includes('Say hello.')));
    for (const device of [one, two]) {
      const id = JSON.parse(text(device.files.device)).device as string;
      await until(async () => {
        const { devices } = await owner.history({ kind: 'skill', name });
        const here = devices.filter((entry) => entry.device === id);
        return here.length > 0 && here.every(({ revision }) => revision === item.revision);
      });
      const { events } = await owner.deviceHistory(id);
      const [last] = events.filter((event) => event.item === item.id);
      expect(last).toMatchObject({ action: 'wrote', revision: 2, replaced: 1 });
      const shown = (await owner.devices()).devices.find((entry) => entry.id === id);
      expect(shown).toMatchObject({ online: true, exceptions: [] });
    }
  });

  it('whose ring was missed comes with the connection', async () => {
    const name = fresh('missed');
    const device = await TestDevice.pair(local);
    await create(name);
    await device.start();
    const file = device.path('.claude/skills', name, 'SKILL.md');
    await until(() => existsSync(file));
    await device.stop();
    await edit(name, 'Missed.');
    await device.start();
    await until(() => text(file).includes('Missed.'));
  });

  it('that a person undoes here is seen, and made again', async () => {
    const name = fresh('watched');
    const device = await TestDevice.pair(local);
    await create(name);
    await device.start();
    const file = device.path('.claude/skills', name, 'SKILL.md');
    await until(() => existsSync(file));
    const whole = text(file);
    // The watch on a folder that has just appeared begins a moment later.
    for (const gone of [file, device.path('.claude/skills', name), file]) {
      await until(async () => {
        rmSync(gone, { recursive: true, force: true });
        await sleep(600);
        return existsSync(file);
      });
      expect(text(file)).toBe(whole);
    }
  });
});

describe('pairing', () => {
  it('is refused on a device that is paired', async () => {
    const device = await TestDevice.pair(local);
    await expect(device.pair()).rejects.toThrow(/already\. Run "repertoire unpair" first\.$/);
  });

  it('shows code, link and fingerprint words, and waits for the person, slower when told so', async () => {
    const device = await TestDevice.pair(local);
    rmSync(device.files.device);
    const waits: number[] = [];
    const clock = Date.now();
    let code = '';
    const paired = await pair({
      files: device.files,
      url: local.url,
      name: 'patient',
      platform: 'linux',
      onCode(shown) {
        code = shown.code;
        expect(shown.link).toContain(code);
        expect(shown.fingerprint).toMatch(/^[a-z]{5}(-[a-z]{5}){3}$/);
      },
      hold: 0,
      now: () => clock,
      async wait(ms) {
        waits.push(ms);
        if (waits.length === 2) await owner.judgePairing(code, 'approve');
      },
    });
    expect(paired.name).toBe('patient');
    // The second question came at once, which the registry does not like.
    expect(waits).toEqual([5000, 10_000]);
    expect((await device.once()).online).toBe(true);
  });

  it('hears at once what the person decides, without a wait of its own', async () => {
    const device = await TestDevice.pair(local);
    rmSync(device.files.device);
    const paired = await pair({
      files: device.files,
      url: local.url,
      name: 'prompt',
      platform: 'linux',
      onCode: ({ code }) => void setTimeout(() => void owner.judgePairing(code, 'approve'), 1000),
      wait: () => Promise.reject(new Error('The device waits.')),
    });
    expect(paired.name).toBe('prompt');
  });

  it('says when it was denied', async () => {
    const device = await TestDevice.pair(local);
    rmSync(device.files.device);
    let code = '';
    const denied = pair({
      files: device.files,
      url: local.url,
      name: 'unwanted',
      platform: 'linux',
      onCode: (shown) => {
        code = shown.code;
      },
      hold: 0,
      wait: async () => void (await owner.judgePairing(code, 'deny')),
    });
    await expect(denied).rejects.toMatchObject({
      code: 'access_denied',
      message: expect.stringMatching(/denied/),
    });
    expect(existsSync(device.files.device)).toBe(false);
  });

  it('says when nobody approved it in time', async () => {
    const device = await TestDevice.pair(local);
    rmSync(device.files.device);
    let clock = Date.now();
    const late = pair({
      files: device.files,
      url: local.url,
      name: 'late',
      platform: 'linux',
      onCode: () => {},
      now: () => clock,
      hold: 0,
      wait: async () => {
        clock += 599_000;
      },
    });
    await expect(late).rejects.toMatchObject({
      code: 'expired_token',
      message: expect.stringMatching(/Nobody approved/),
    });
  });

  it('says when the registry cannot be reached', async () => {
    const device = await TestDevice.pair(local);
    rmSync(device.files.device);
    await expect(device.pair('http://127.0.0.1:9')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/127\.0\.0\.1:9 cannot be reached/),
    });
  });
});

/** Every file below a folder with its text. */
function files(folder: string): [string, string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => [path, text(path)]);
}

const idOf = (device: TestDevice) => JSON.parse(text(device.files.device)).device as string;

describe('check 27: a device that is revoked', () => {
  it('while it is connected ends its agent, which leaves every file and writes none after', async () => {
    const name = fresh('revoked');
    const device = await TestDevice.pair(local);
    await create(name);
    await device.start();
    await until(() => existsSync(device.path('.claude/skills', name, 'SKILL.md')));
    await owner.revoke(idOf(device));
    expect(await device.ended).toEqual({ ended: 'unpaired', message: expect.stringMatching(/revoked/) });
    expect(readCondition(device.files).unpaired?.message).toMatch(/revoked/);
    const left = files(device.path('.claude'));
    await edit(name, 'After.');
    expect(await runDaemon(device.options)).toMatchObject({ ended: 'unpaired' });
    expect(files(device.path('.claude'))).toEqual(left);
  });

  it('while it is offline finds out when it is back, and leaves every file', async () => {
    const name = fresh('offline');
    let reachable = true;
    const device = await TestDevice.pair(local, ['.claude'], {
      fetch: (...request) => (reachable ? fetch(...request) : Promise.reject(new TypeError('fetch failed'))),
      timing: { retryFrom: 1, retryTo: 10 },
    });
    await create(name);
    await device.once();
    const left = files(device.path('.claude'));
    reachable = false;
    const ended = runDaemon(device.options);
    await until(() => device.log.some(({ message }) => /cannot be reached/.test(message)));
    await owner.revoke(idOf(device));
    await edit(name, 'After.');
    reachable = true;
    expect(await ended).toEqual({ ended: 'unpaired', message: expect.stringMatching(/revoked/) });
    expect(files(device.path('.claude'))).toEqual(left);
  });

  it('while changes are on their way to it does not write them', async () => {
    const names = [fresh('kept'), fresh('late')] as const;
    const refused = Promise.withResolvers<void>();
    let armed = false;
    const device = await TestDevice.pair(local, ['.claude'], {
      // The changes arrive when the registry no longer knows the device.
      async fetch(...request) {
        const response = await fetch(...request);
        const { pathname } = new URL(String(request[0]));
        if (!armed) return response;
        if (pathname.endsWith('/devices/token') && response.status === 401) refused.resolve();
        if (pathname.endsWith('/changes') && response.ok) {
          await owner.revoke(idOf(device));
          await refused.promise;
        }
        return response;
      },
    });
    await create(names[0]);
    await device.start();
    await until(() => existsSync(device.path('.claude/skills', names[0], 'SKILL.md')));
    await device.idle();
    const left = files(device.path('.claude'));
    armed = true;
    await create(names[1]);
    expect(await device.ended).toEqual({ ended: 'unpaired', message: expect.stringMatching(/revoked/) });
    expect(files(device.path('.claude'))).toEqual(left);
  });

  it('while items are being written ends with those under way', async () => {
    const device = await TestDevice.pair(local, []);
    for (let i = 0; i < 30; i++) await create(fresh('many'));
    // Without a client there is nothing to write yet.
    await device.once();
    mkdirSync(device.path('.claude'));
    const pass = createFolders({
      files: device.files,
      records: openRecords(device.files),
      mirror: openMirror(device.files.mirror),
      machine: device.options.machine,
      executableBit: true,
      now: Date.now,
    });
    const written = () =>
      existsSync(device.path('.claude/skills')) ? readdirSync(device.path('.claude/skills')).length : 0;
    await pass.pass('all', () => written() > 0);
    expect(written()).toBeGreaterThan(0);
    expect(written()).toBeLessThanOrEqual(8);
    for (const name of readdirSync(device.path('.claude/skills')))
      expect(text(device.path('.claude/skills', name, 'SKILL.md'))).toMatch(/\.\n$/);
  });
});

describe('a registry that cannot be reached', () => {
  it('does not unpair, and what is known is kept up', async () => {
    let reachable = true;
    const device = await TestDevice.pair(local, ['.claude'], {
      fetch: (...request) => (reachable ? fetch(...request) : Promise.reject(new TypeError('fetch failed'))),
    });
    const name = fresh('offline');
    await create(name);
    await device.once();
    const file = device.path('.claude/skills', name, 'SKILL.md');
    reachable = false;
    rmSync(file);
    const { online, problem, condition } = await device.once();
    expect([online, condition.unpaired]).toEqual([false, null]);
    expect(problem).toMatch(/cannot be reached/);
    // What is known already is kept up without the registry, and told when it is back.
    expect(existsSync(file)).toBe(true);
    reachable = true;
    await edit(name, 'Back.');
    expect((await device.once()).online).toBe(true);
    expect(text(file)).toContain('Back.');
    const { events } = await owner.deviceHistory(JSON.parse(text(device.files.device)).device);
    expect(events.filter((event) => event.name === name).map(({ action }) => action)).toEqual([
      'wrote',
      'wrote',
      'wrote',
    ]);
  });
});

describe('a person’s own folder', () => {
  it('is adopted when it was added from there, and keeps its bytes', async () => {
    const device = await TestDevice.pair(local);
    const name = fresh('adopted');
    const folder = device.path('.claude/skills', name);
    const main = `---\nname: ${name}\ndescription: mine\n---\n\nMine.  \r\n`;
    mkdirSync(join(folder, 'scripts'), { recursive: true });
    writeFileSync(join(folder, 'SKILL.md'), main);
    writeFileSync(join(folder, 'scripts/run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    await owner.create({
      kind: 'skill',
      files: { 'SKILL.md': { text: main }, 'scripts/run.sh': { text: '#!/bin/sh\n', executable: true } },
    });
    await device.once();
    expect(text(join(folder, 'SKILL.md'))).toBe(main);
    expect(text(device.path('.agents/skills', name, 'SKILL.md'))).toBe(main);
    const { devices } = await owner.history({ kind: 'skill', name });
    expect(devices.map(({ state }) => state).sort()).toEqual(['adopted', 'written']);
    await edit(name, 'Changed elsewhere.');
    await device.once();
    expect(text(join(folder, 'SKILL.md'))).toContain('Changed elsewhere.');
  });

  it('with other bytes is reported and left alone', async () => {
    const device = await TestDevice.pair(local);
    const name = fresh('mine');
    mkdirSync(device.path('.claude/skills', name), { recursive: true });
    writeFileSync(device.path('.claude/skills', name, 'SKILL.md'), 'mine');
    await create(name);
    await device.once();
    expect(text(device.path('.claude/skills', name, 'SKILL.md'))).toBe('mine');
    const id = JSON.parse(text(device.files.device)).device as string;
    const shown = (await owner.devices()).devices.find((entry) => entry.id === id);
    expect(shown?.exceptions).toMatchObject([
      { name, state: 'held_back', message: expect.stringContaining('repertoire resolve') },
    ]);
  });
});

describe('many removals', () => {
  it('wait, and go once they are confirmed', async () => {
    const device = await TestDevice.pair(local);
    const names = Array.from({ length: 11 }, () => fresh('many'));
    for (const name of names) await create(name);
    await device.once();
    for (const name of names) await remove(name);
    await device.once();
    const left = () => names.filter((name) => existsSync(device.path('.claude/skills', name)));
    expect(left()).toHaveLength(11);
    const { brake } = readCondition(device.files);
    expect(brake?.message).toMatch(/^11 items would be removed/);
    changeSettings(device.files, () => ({ confirmed: brake?.items.map(({ key }) => key) ?? [] }));
    await device.once();
    expect(left()).toEqual([]);
  });
});

describe('a registry that went back in time', () => {
  it('stops the writing until the person follows it, and nothing is deleted even then', async () => {
    const device = await TestDevice.pair(local);
    const name = fresh('rewound');
    await create(name);
    await device.once();
    const file = device.path('.claude/skills', name, 'SKILL.md');
    const mirror = openMirror(device.files.mirror);
    const [epoch, seq] = (mirror.cursor ?? '').split(':');
    mirror.advance({ items: [], cursor: `${epoch}:${Number(seq) + 1000}` });
    await edit(name, 'From the past.');
    const stopped = await device.once();
    expect(stopped.problem).toMatch(/repertoire confirm/);
    expect(text(file)).toContain('Say hi.');
    const { rewound } = readCondition(device.files);
    changeSettings(device.files, () => ({ rewound_to: rewound && rewindKey(rewound) }));
    await device.once();
    expect(text(file)).toContain('From the past.');
    expect(readCondition(device.files).rewound).toBeNull();
  });
});

describe('one agent', () => {
  it('runs at a time; another finds it busy and can ask it to sync', async () => {
    const device = await TestDevice.pair(local);
    const name = fresh('busy');
    await device.start();
    expect(await runDaemon(device.options)).toEqual({ ended: 'busy' });
    await create(name);
    const status = await ask(device.options.paths.instance, { type: 'sync' });
    expect(status).toMatchObject({ online: true, listening: true, problem: null, pid: process.pid });
    expect(existsSync(device.path('.claude/skills', name))).toBe(true);
    await expect(ask(device.options.paths.instance, { type: 'dance' })).rejects.toThrow(/does not know/);
    expect(await device.stop()).toEqual({ ended: 'stopped' });
  });
});

describe('pairing anew', () => {
  it('takes over what an earlier pairing wrote', async () => {
    const device = await TestDevice.pair(local);
    const name = fresh('again');
    await create(name);
    await device.once();
    forgetDevice(device.files);
    await edit(name, 'Meanwhile.');
    await device.pair();
    await device.once();
    expect(text(device.path('.claude/skills', name, 'SKILL.md'))).toContain('Meanwhile.');
  });
});

describe('an agent that is killed', () => {
  it('at any change to the disk leaves the old item or the new one, and the next one finishes', async () => {
    const name = fresh('killed');
    const files = (n: number) => ({
      'SKILL.md': { text: `---\nname: ${name}\ndescription: d\n---\nRevision ${n}.\n` },
      'a/b.txt': { text: `file ${n}\n` },
    });
    await owner.create({ kind: 'skill', files: files(1) });
    const script = fileURLToPath(new URL('killed.ts', import.meta.url));
    const device = await TestDevice.pair(local);
    await device.once();
    let killed = 0;
    for (let at = 1, finished = false; !finished; at += 7) {
      const { revision } = await owner.item({ kind: 'skill', name });
      const next = revision + 1;
      await owner.edit({ kind: 'skill', name }, { expected_revision: revision, files: files(next) });
      const child = spawn(process.execPath, [script, device.home, String(at)], { stdio: 'inherit' });
      const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
      expect([code, signal]).toEqual(signal === null ? [0, null] : [null, 'SIGKILL']);
      finished = signal === null;
      if (!finished) killed++;
      await device.once();
      for (const folder of ['.claude/skills', '.agents/skills']) {
        const here = device.path(folder, name);
        expect(text(join(here, 'SKILL.md'))).toContain(`Revision ${next}.`);
        expect(text(join(here, 'a/b.txt'))).toBe(`file ${next}\n`);
        expect(readdirSync(here).sort()).toEqual(['SKILL.md', 'a']);
      }
      const { devices } = await owner.history({ kind: 'skill', name });
      const id = JSON.parse(text(device.files.device)).device as string;
      const states = devices.filter((entry) => entry.device === id).map(({ state }) => state);
      expect(states).toEqual(['written', 'written']);
    }
    expect(killed).toBeGreaterThan(3);
  }, 180_000);
});

describe('the state folder', () => {
  it('that is damaged is refused with a sentence and kept', async () => {
    const device = await TestDevice.pair(local);
    await device.once();
    const ledger = device.path('state/ledger.jsonl');
    writeFileSync(ledger, 'nonsense\n');
    await expect(device.once()).rejects.toThrow(/ledger\.jsonl cannot be used/);
    expect(text(ledger)).toBe('nonsense\n');
  });

  it('check 28: of a device that was copied does not unpair the original; both are seen', async () => {
    const device = await TestDevice.pair(local);
    const copy = await TestDevice.pair(local);
    cpSync(device.files.key, copy.files.key);
    cpSync(device.files.device, copy.files.device);
    await device.start();
    await copy.start();
    await until(() => device.log.some(({ message }) => /Another machine listens/.test(message)));
    expect((await ask(device.options.paths.instance, { type: 'sync' })) as object).toMatchObject({
      online: true,
      listening: false,
      replaced_at: expect.any(Number),
      condition: { unpaired: null },
    });
    expect((await ask(copy.options.paths.instance, { type: 'status' })) as object).toMatchObject({
      listening: true,
      replaced_at: null,
    });
    const { device: id } = JSON.parse(text(device.files.device)) as { device: string };
    const seen = async () =>
      (await owner.http.json('GET', '/api/v1/events', AccountEventList)).events.filter(
        ({ type, details }) => type === 'key_on_two_machines' && details.device === id,
      );
    await until(async () => (await seen()).length > 0);
    expect((await seen()).map(({ details }) => details)).toEqual([
      {
        device: id,
        name: 'test',
        place: 'this computer',
        since: expect.any(String),
        other_place: 'this computer',
        other_since: expect.any(String),
      },
    ]);
  });
});

it('reads a registry’s refusal by its code', async () => {
  await expect(owner.item({ kind: 'skill', name: 'not-there' })).rejects.toSatisfy(
    (error) => error instanceof RegistryError && error.code === 'not_found',
  );
});
