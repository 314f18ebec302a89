import { describe, expect, test } from 'vitest';
import { platformPaths } from '../../agent/platform.ts';

const linux = { platform: 'linux', env: {}, home: '/home/ada' } as const;
const mac = { platform: 'darwin', env: {}, home: '/Users/ada' } as const;
const windows = { platform: 'win32', env: {}, home: 'C:\\Users\\Ada' } as const;

describe('state folder', () => {
  test.each([
    [linux, '/home/ada/.local/state/repertoire'],
    [{ ...linux, env: { XDG_STATE_HOME: '/var/ada' } }, '/var/ada/repertoire'],
    [{ ...linux, env: { XDG_STATE_HOME: 'relative' } }, '/home/ada/.local/state/repertoire'],
    [{ ...linux, env: { XDG_STATE_HOME: '' } }, '/home/ada/.local/state/repertoire'],
    [{ ...linux, env: { REPERTOIRE_STATE: '/s/../t', XDG_STATE_HOME: '/var/ada' } }, '/t'],
    [mac, '/Users/ada/Library/Application Support/repertoire'],
    [{ ...mac, env: { XDG_STATE_HOME: '/var/ada' } }, '/Users/ada/Library/Application Support/repertoire'],
    [{ ...mac, env: { REPERTOIRE_STATE: '/s' } }, '/s'],
    [windows, 'C:\\Users\\Ada\\AppData\\Local\\repertoire'],
    [{ ...windows, env: { LOCALAPPDATA: 'D:\\Local' } }, 'D:\\Local\\repertoire'],
    [{ ...windows, env: { REPERTOIRE_STATE: 'E:/state' } }, 'E:\\state'],
  ])('%j: %s', (input, state) => {
    expect(platformPaths(input).state).toBe(state);
  });

  test.each([linux, mac, windows])('a relative REPERTOIRE_STATE is refused on $platform', (input) => {
    expect(() => platformPaths({ ...input, env: { REPERTOIRE_STATE: 'state' } })).toThrow(
      'must be a full path',
    );
  });
});

describe('address of the one agent', () => {
  test('a socket in the state folder', () => {
    expect(platformPaths(linux).instance).toBe('/home/ada/.local/state/repertoire/agent.sock');
    expect(platformPaths(mac).instance).toBe('/Users/ada/Library/Application Support/repertoire/agent.sock');
  });

  const deep = (length: number) => `/${'é'.repeat(length / 2)}`;
  test.each([linux, mac])(
    'fits the limit of $platform in bytes, however deep the state folder is',
    (input) => {
      for (let length = 60; length < 200; length += 2) {
        const { instance, state } = platformPaths({ ...input, env: { REPERTOIRE_STATE: deep(length) } });
        expect(Buffer.byteLength(instance)).toBeLessThanOrEqual(103);
        expect(instance.startsWith(state)).toBe(Buffer.byteLength(state) + '/agent.sock'.length <= 103);
      }
    },
  );

  test('a deep state folder has its socket in a private runtime or temporary folder, one for each state', () => {
    const at = (env: Record<string, string>, length = 150) =>
      platformPaths({ ...linux, env: { REPERTOIRE_STATE: deep(length), ...env } }).instance;
    expect(at({})).toMatch(/^\/tmp\/repertoire-[0-9a-f]{16}\/s$/);
    expect(at({ TMPDIR: '/var/tmp' })).toMatch(/^\/var\/tmp\/repertoire-/);
    expect(at({ TMPDIR: '/var/tmp', XDG_RUNTIME_DIR: '/run/user/1' })).toMatch(
      /^\/run\/user\/1\/repertoire-/,
    );
    expect(at({ TMPDIR: deep(150) })).toMatch(/^\/tmp\/repertoire-/);
    expect(at({})).not.toBe(at({}, 160));
  });

  test('a pipe on Windows, the same for every spelling of the state folder', () => {
    const pipe = platformPaths(windows).instance;
    expect(pipe).toMatch(/^\\\\\.\\pipe\\repertoire-[0-9a-f]{16}$/);
    expect(platformPaths({ ...windows, home: 'c:\\users\\ada' }).instance).toBe(pipe);
    expect(platformPaths({ ...windows, home: 'C:\\Users\\Bob' }).instance).not.toBe(pipe);
  });
});

test('modes and the executable bit exist where the platform has them', () => {
  expect(platformPaths(linux)).toMatchObject({
    privateModes: { folder: 0o700, file: 0o600 },
    executableBit: true,
  });
  expect(platformPaths(mac)).toMatchObject({
    privateModes: { folder: 0o700, file: 0o600 },
    executableBit: true,
  });
  expect(platformPaths(windows)).toMatchObject({ privateModes: null, executableBit: false });
});
