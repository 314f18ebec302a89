import { expect, test } from 'vitest';
import { type ClientId, WRITTEN_CLIENTS } from '../../schema/clients.ts';
import { clientFolders, clientPresence, type Platform, unwrittenFolders } from '../../schema/folders.ts';

const HOME = { linux: '/home/ada', darwin: '/Users/ada', win32: 'C:\\Users\\ada' } as const;
const ALL = WRITTEN_CLIENTS.map((client) => client.id);

function folders(
  present: readonly ClientId[],
  env: Record<string, string> = {},
  platform: Platform = 'linux',
  home: string = HOME[platform],
) {
  return clientFolders({ env, home, platform, present: new Set(present) });
}

function skills(...args: Parameters<typeof folders>) {
  return Object.fromEntries(
    folders(...args)
      .filter((folder) => folder.kind === 'skill')
      .map((folder) => [folder.path, folder.clients.join(' ')]),
  );
}

function personas(...args: Parameters<typeof folders>) {
  return folders(...args)
    .filter((folder) => folder.kind === 'persona')
    .map((folder) => `${folder.format} ${folder.path}`);
}

test('Linux: the whole write set', () => {
  expect(folders(ALL)).toEqual([
    {
      path: '/home/ada/.agents/skills',
      kind: 'skill',
      format: 'skill-folder',
      clients: ['codex', 'cursor', 'opencode', 'gemini-cli', 'copilot-cli'],
      restart: ['opencode'],
    },
    {
      path: '/home/ada/.claude/skills',
      kind: 'skill',
      format: 'skill-folder',
      clients: ['claude-code', 'cursor', 'opencode'],
      restart: ['opencode'],
    },
    ...(
      [
        ['claude-code', '.claude'],
        ['codex', '.codex'],
        ['cursor', '.cursor'],
        ['opencode', '.config/opencode'],
        ['gemini-cli', '.gemini'],
        ['copilot-cli', '.copilot'],
      ] as const
    ).map(([id, folder]) => ({
      path: `/home/ada/${folder}/agents`,
      kind: 'persona',
      format: id,
      clients: [id],
      restart: id === 'opencode' ? ['opencode'] : [],
    })),
  ]);
});

test('macOS and Windows: the same folders under their homes, with their separators', () => {
  const linux = folders(ALL);
  expect(folders(ALL, {}, 'darwin').map((folder) => folder.path)).toEqual(
    linux.map((folder) => folder.path.replace('/home', '/Users')),
  );
  expect(folders(ALL, {}, 'win32').map((folder) => folder.path)).toEqual(
    linux.map((folder) => folder.path.replace('/home', 'C:\\Users').replaceAll('/', '\\')),
  );
});

test('the shared folder is written whoever is present; ~/.claude/skills only where a client depends on it', () => {
  expect(skills([])).toEqual({ '/home/ada/.agents/skills': '' });
  expect(skills(['codex', 'cursor', 'opencode', 'gemini-cli', 'copilot-cli'])).toEqual({
    '/home/ada/.agents/skills': 'codex cursor opencode gemini-cli copilot-cli',
  });
  expect(skills(['claude-code'])).toEqual({
    '/home/ada/.agents/skills': '',
    '/home/ada/.claude/skills': 'claude-code',
  });
});

test("Codex's own skill folder is never written, for Codex lists both", () => {
  for (const env of [{}, { CODEX_HOME: '/opt/codex' }]) {
    expect(Object.keys(skills(['codex'], env))).toEqual(['/home/ada/.agents/skills']);
  }
});

test('variables move what they move, and nothing else', () => {
  expect(skills(['claude-code', 'cursor'], { CLAUDE_CONFIG_DIR: '/opt/claude' })).toEqual({
    '/home/ada/.agents/skills': 'cursor',
    '/opt/claude/skills': 'claude-code',
  });
  expect(personas(['claude-code'], { CLAUDE_CONFIG_DIR: '/opt/claude' })).toEqual([
    'claude-code /opt/claude/agents',
  ]);
  expect(personas(['codex'], { CODEX_HOME: '/opt/codex' })).toEqual(['codex /opt/codex/agents']);
  expect(personas(['opencode'], { XDG_CONFIG_HOME: '/opt/xdg' })).toEqual([
    'opencode /opt/xdg/opencode/agents',
  ]);

  expect(skills(['gemini-cli', 'codex'], { GEMINI_CLI_HOME: '/opt/g' })).toEqual({
    '/home/ada/.agents/skills': 'codex',
    '/opt/g/.agents/skills': 'gemini-cli',
  });
  expect(personas(['gemini-cli'], { GEMINI_CLI_HOME: '/opt/g' })).toEqual([
    'gemini-cli /opt/g/.gemini/agents',
  ]);

  expect(skills(['copilot-cli', 'codex'], { COPILOT_HOME: '/opt/c' })).toEqual({
    '/home/ada/.agents/skills': 'codex',
    '/opt/c/skills': 'copilot-cli',
  });
  expect(personas(['copilot-cli'], { COPILOT_HOME: '/opt/c', XDG_CONFIG_HOME: '/opt/xdg' })).toEqual([
    'copilot-cli /opt/c/agents',
  ]);
});

test("opencode's switches change which folders it reads", () => {
  const present: ClientId[] = ['claude-code', 'opencode'];
  expect(skills(present, { OPENCODE_DISABLE_CLAUDE_CODE_SKILLS: '1' })).toEqual({
    '/home/ada/.agents/skills': 'opencode',
    '/home/ada/.claude/skills': 'claude-code',
  });
  expect(skills(present, { OPENCODE_DISABLE_EXTERNAL_SKILLS: 'true' })).toEqual({
    '/home/ada/.agents/skills': '',
    '/home/ada/.claude/skills': 'claude-code',
    '/home/ada/.config/opencode/skills': 'opencode',
  });
  expect(skills(present, { OPENCODE_DISABLE_EXTERNAL_SKILLS: '0' })).toEqual(skills(present));
});

test('no folder is listed twice, whatever the variables say', () => {
  expect(skills(['claude-code'], { CLAUDE_CONFIG_DIR: '/home/ada/.agents/' })).toEqual({
    '/home/ada/.agents/skills': 'claude-code',
  });
  expect(skills(['gemini-cli'], { GEMINI_CLI_HOME: '/home/ada/x/..' })).toEqual({
    '/home/ada/.agents/skills': 'gemini-cli',
  });
  expect(skills(['claude-code'], { CLAUDE_CONFIG_DIR: 'c:/users/ADA/.agents' }, 'win32')).toEqual({
    'C:\\Users\\ada\\.agents\\skills': 'claude-code',
  });
  expect(skills(['claude-code'], { CLAUDE_CONFIG_DIR: '/Users/ada/.Agents' }, 'darwin')).toEqual({
    '/Users/ada/.agents/skills': 'claude-code',
  });
  expect(Object.keys(skills(['claude-code'], { CLAUDE_CONFIG_DIR: '/home/ada/.Agents' }))).toHaveLength(2);
  expect(personas(['claude-code', 'copilot-cli'], { COPILOT_HOME: '/home/ada/.claude' })).toEqual([
    'claude-code /home/ada/.claude/agents',
  ]);
});

test('no client of the write set reads one skill from two written folders, but those that show it once', () => {
  const showOnce = new Set(['cursor', 'opencode']);
  const counts = new Map<string, number>();
  for (const folder of folders(ALL).filter(({ kind }) => kind === 'skill')) {
    for (const client of folder.clients) counts.set(client, (counts.get(client) ?? 0) + 1);
  }
  for (const [client, count] of counts) expect(count, client).toBe(showOnce.has(client) ? 2 : 1);
});

test('relative and empty variables are left aside', () => {
  for (const value of ['', 'relative/path', './x', '~/x']) {
    const env = {
      CLAUDE_CONFIG_DIR: value,
      CODEX_HOME: value,
      XDG_CONFIG_HOME: value,
      GEMINI_CLI_HOME: value,
    };
    expect(folders(ALL, env)).toEqual(folders(ALL));
  }
});

test('Windows paths: drives, shares, mixed separators', () => {
  const env = {
    CLAUDE_CONFIG_DIR: 'D:/tools\\claude/',
    CODEX_HOME: '\\\\server\\share\\codex',
    COPILOT_HOME: '/posix/path',
    XDG_CONFIG_HOME: 'C:relative',
  };
  expect(personas(ALL, env, 'win32')).toEqual([
    'claude-code D:\\tools\\claude\\agents',
    'codex \\\\server\\share\\codex\\agents',
    'cursor C:\\Users\\ada\\.cursor\\agents',
    'opencode C:\\Users\\ada\\.config\\opencode\\agents',
    'gemini-cli C:\\Users\\ada\\.gemini\\agents',
    'copilot-cli C:\\Users\\ada\\.copilot\\agents',
  ]);
});

test('a client is present where its configuration folder is', () => {
  const env = { XDG_CONFIG_HOME: '/xdg', GEMINI_CLI_HOME: '/g', COPILOT_HOME: '/c', CODEX_HOME: '/x' };
  expect(clientPresence({ env, home: '/home/ada', platform: 'linux' })).toEqual([
    { client: 'claude-code', path: '/home/ada/.claude' },
    { client: 'codex', path: '/x' },
    { client: 'cursor', path: '/home/ada/.cursor' },
    { client: 'opencode', path: '/xdg/opencode' },
    { client: 'gemini-cli', path: '/g/.gemini' },
    { client: 'copilot-cli', path: '/c' },
  ]);
  expect(clientPresence({ env: {}, home: 'C:\\Users\\ada\\', platform: 'win32' })[3]).toEqual({
    client: 'opencode',
    path: 'C:\\Users\\ada\\.config\\opencode',
  });
});

test('clients that are present but not written change nothing', () => {
  expect(folders(['qwen-code', 'zed'])).toEqual(folders([]));
});

test('folders that a present client reads and that are not written', () => {
  const machine = { env: {}, home: '/home/ada', platform: 'linux' as const };
  const found = (...present: ClientId[]) => unwrittenFolders({ ...machine, present: new Set(present) });
  expect(found('claude-code')).toEqual([]);
  expect(found('codex')).toEqual([{ path: '/home/ada/.codex/skills', clients: ['codex'] }]);
  expect(found('cursor', 'codex')).toEqual([
    { path: '/home/ada/.codex/skills', clients: ['codex', 'cursor'] },
    { path: '/home/ada/.cursor/skills', clients: ['cursor'] },
    { path: '/home/ada/.claude/skills', clients: ['cursor'] },
  ]);
  expect(found('cursor', 'claude-code').map(({ path }) => path)).not.toContain('/home/ada/.claude/skills');
});
