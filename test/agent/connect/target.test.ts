import { expect, test } from 'vitest';
import { clientTarget, serverEntry } from '../../../agent/connect/target.ts';
import type { Platform } from '../../../schema/folders.ts';

const IDS = ['claude-code', 'codex', 'cursor', 'opencode', 'gemini-cli', 'copilot-cli'] as const;
const HOMES = { linux: '/home/ada', darwin: '/Users/ada', win32: 'C:\\Users\\ada' } as const;

function files(platform: Platform, env: Record<string, string> = {}) {
  const machine = { platform, home: HOMES[platform], env };
  return IDS.map((id) => clientTarget(id, machine).candidates.at(-1));
}

test('each platform has its separators', () => {
  expect(files('linux')).toEqual([
    '/home/ada/.claude.json',
    '/home/ada/.codex/config.toml',
    '/home/ada/.cursor/mcp.json',
    '/home/ada/.config/opencode/opencode.json',
    '/home/ada/.gemini/settings.json',
    '/home/ada/.copilot/mcp-config.json',
  ]);
  expect(files('darwin')[0]).toBe('/Users/ada/.claude.json');
  expect(files('win32')).toEqual([
    'C:\\Users\\ada\\.claude.json',
    'C:\\Users\\ada\\.codex\\config.toml',
    'C:\\Users\\ada\\.cursor\\mcp.json',
    'C:\\Users\\ada\\.config\\opencode\\opencode.json',
    'C:\\Users\\ada\\.gemini\\settings.json',
    'C:\\Users\\ada\\.copilot\\mcp-config.json',
  ]);
});

test("each client's own variable moves its file", () => {
  const env = {
    CLAUDE_CONFIG_DIR: '/c/claude',
    CODEX_HOME: '/c/codex',
    XDG_CONFIG_HOME: '/c/xdg',
    GEMINI_CLI_HOME: '/c/gemini',
    COPILOT_HOME: '/c/copilot',
  };
  expect(files('linux', env)).toEqual([
    '/c/claude/.claude.json',
    '/c/codex/config.toml',
    '/home/ada/.cursor/mcp.json',
    '/c/xdg/opencode/opencode.json',
    '/c/gemini/.gemini/settings.json',
    '/c/copilot/mcp-config.json',
  ]);
  expect(files('linux', { CLAUDE_CONFIG_DIR: 'claude' })[0]).toBe('/home/ada/.claude.json');
});

test('claude-code: an older file in the configuration folder goes first', () => {
  const machine = { platform: 'linux', home: '/home/ada', env: {} } as const;
  expect(clientTarget('claude-code', machine).candidates[0]).toBe('/home/ada/.claude/.config.json');
});

test('the entry carries what the server needs and its client may not hand down', () => {
  const command = ['C:\\node.exe', 'C:\\repertoire.js'];
  const entry = (platform: Platform, env: Record<string, string>, wslDistro?: string) =>
    serverEntry('codex', { platform, home: HOMES[platform], env }, { command, wslDistro });
  expect(entry('win32', { LOCALAPPDATA: 'C:\\Users\\ada\\AppData\\Local' })).toEqual({
    command: 'C:\\node.exe',
    args: ['C:\\repertoire.js', 'mcp'],
  });
  expect(entry('win32', {}, 'Ubuntu-24.04').env).toEqual({ REPERTOIRE_WSL_DISTRO: 'Ubuntu-24.04' });
  expect(entry('win32', { LOCALAPPDATA: 'D:\\Local' }).env).toEqual({
    REPERTOIRE_STATE: 'D:\\Local\\repertoire',
  });
  expect(entry('linux', { XDG_STATE_HOME: '/s' }).env).toEqual({ REPERTOIRE_STATE: '/s/repertoire' });
  expect(entry('darwin', { REPERTOIRE_STATE: '/r' }).env).toEqual({ REPERTOIRE_STATE: '/r' });
  expect(entry('linux', { WSL_DISTRO_NAME: 'Ubuntu' })).not.toHaveProperty('env');
});
