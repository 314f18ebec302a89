import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ConnectOptions, connectClient } from '../../../agent/connect/connect.ts';
import { readConnection } from '../../../agent/connect/connection.ts';
import { readSettings, stateFiles } from '../../../agent/state.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'connect-'));
});
afterEach(() => rmSync(home, { recursive: true }));

function connect(client: string, options: Partial<ConnectOptions> = {}) {
  return connectClient({
    client,
    env: {},
    home,
    platform: 'linux',
    command: ['/usr/bin/node', '/opt/repertoire.js'],
    ...options,
  });
}

function put(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const read = (path: string) => readFileSync(join(home, path), 'utf8');
const state = () => stateFiles(join(home, '.local/state/repertoire'));

/** Per client: its file, one that a person may have, what connecting makes of it, and of none. */
const GOLDEN = {
  'claude-code': {
    path: '.claude.json',
    before:
      '{\n  "numStartups": 3,\n  "mcpServers": {\n    "other": { "type": "http", "url": "http://a" }\n  },\n  "projects": {}\n}\n',
    after: `{
  "numStartups": 3,
  "mcpServers": {
    "other": { "type": "http", "url": "http://a" },
    "repertoire": {
      "type": "stdio",
      "command": "/usr/bin/node",
      "args": [
        "/opt/repertoire.js",
        "mcp"
      ]
    }
  },
  "projects": {}
}
`,
    fresh: `{
  "mcpServers": {
    "repertoire": {
      "type": "stdio",
      "command": "/usr/bin/node",
      "args": [
        "/opt/repertoire.js",
        "mcp"
      ]
    }
  }
}
`,
  },
  codex: {
    path: '.codex/config.toml',
    before:
      'model = "gpt"   # mine\nnotes = """\n[mcp_servers.repertoire]\n"""\nmatrix = [\n  [1],\n  ["mcp_servers"]\n]\n\n[mcp_servers.other] # other\ncommand = \'x\'\n\n# closing words\n',
    after:
      'model = "gpt"   # mine\nnotes = """\n[mcp_servers.repertoire]\n"""\nmatrix = [\n  [1],\n  ["mcp_servers"]\n]\n\n[mcp_servers.other] # other\ncommand = \'x\'\n\n# closing words\n\n[mcp_servers.repertoire]\ncommand = "/usr/bin/node"\nargs = [ "/opt/repertoire.js", "mcp" ]\n',
    fresh: '[mcp_servers.repertoire]\ncommand = "/usr/bin/node"\nargs = [ "/opt/repertoire.js", "mcp" ]\n',
  },
  cursor: {
    path: '.cursor/mcp.json',
    before:
      '{\r\n\t// my servers\r\n\t"mcpServers": {\r\n\t\t"other": {"command": "x"}, // keep\r\n\t},\r\n}\r\n',
    after:
      '{\r\n\t// my servers\r\n\t"mcpServers": {\r\n\t\t"other": {"command": "x"}, // keep\r\n\t\t"repertoire": {\r\n\t\t\t"type": "stdio",\r\n\t\t\t"command": "/usr/bin/node",\r\n\t\t\t"args": [\r\n\t\t\t\t"/opt/repertoire.js",\r\n\t\t\t\t"mcp"\r\n\t\t\t]\r\n\t\t},\r\n\t},\r\n}\r\n',
    fresh: `{
  "mcpServers": {
    "repertoire": {
      "type": "stdio",
      "command": "/usr/bin/node",
      "args": [
        "/opt/repertoire.js",
        "mcp"
      ]
    }
  }
}
`,
  },
  opencode: {
    path: '.config/opencode/opencode.json',
    before: '{\n    "$schema": "https://opencode.ai/config.json"\n}',
    after: `{
    "$schema": "https://opencode.ai/config.json",
    "mcp": {
        "repertoire": {
            "type": "local",
            "command": [
                "/usr/bin/node",
                "/opt/repertoire.js",
                "mcp"
            ],
            "enabled": true
        }
    }
}`,
    fresh: `{
  "mcp": {
    "repertoire": {
      "type": "local",
      "command": [
        "/usr/bin/node",
        "/opt/repertoire.js",
        "mcp"
      ],
      "enabled": true
    }
  }
}
`,
  },
  gemini: {
    path: '.gemini/settings.json',
    before: '{"security":{"auth":{}},"mcpServers":{}}\n',
    after:
      '{"security":{"auth":{}},"mcpServers":{"repertoire":{"command":"/usr/bin/node","args":["/opt/repertoire.js","mcp"]}}}\n',
    fresh: `{
  "mcpServers": {
    "repertoire": {
      "command": "/usr/bin/node",
      "args": [
        "/opt/repertoire.js",
        "mcp"
      ]
    }
  }
}
`,
  },
  copilot: {
    path: '.copilot/mcp-config.json',
    before: '',
    after: `{
  "mcpServers": {
    "repertoire": {
      "type": "local",
      "command": "/usr/bin/node",
      "args": [
        "/opt/repertoire.js",
        "mcp"
      ],
      "tools": [
        "*"
      ]
    }
  }
}
`,
    fresh: null,
  },
} as const;

describe.each(Object.entries(GOLDEN))('%s', (client, { path, before, after, fresh }) => {
  test('adds the server and changes nothing else; a second time nothing; undo gives the file back', () => {
    put(path, before);
    expect(connect(client)).toMatchObject({ done: 'connected', path: join(home, path) });
    expect(read(path)).toBe(after);
    expect(connect(client)).toMatchObject({ done: 'unchanged', diff: '' });
    expect(read(path)).toBe(after);
    expect(connect(client, { undo: true })).toMatchObject({ done: 'disconnected' });
    expect(read(path)).toBe(before);
    expect(connect(client, { undo: true })).toMatchObject({ done: 'unchanged' });
    expect(read(path)).toBe(before);
  });

  test('makes an absent file and its folders, which undo removes again', () => {
    connect(client);
    expect(read(path)).toBe(fresh ?? after);
    expect(statSync(join(home, path)).mode & 0o777).toBe(0o600);
    connect(client, { undo: true });
    expect(readdirSync(home)).toEqual(['.local']);
  });

  test('a dry run shows the change and writes nothing', () => {
    put(path, before);
    const { done, diff } = connect(client, { dryRun: true });
    expect(done).toBe('connected');
    expect(diff).toContain('/opt/repertoire.js');
    expect(diff.split('\n').slice(1).join('')).not.toMatch(/other|mine|numStartups|security|schema/);
    expect(read(path)).toBe(before);
    expect(existsSync(state().folder)).toBe(false);
  });

  test('settings name the client until undo', () => {
    const { client: id } = connect(client);
    expect(readSettings(state()).connected).toEqual([id]);
    connect(client);
    expect(readSettings(state()).connected).toEqual([id]);
    connect(client, { undo: true });
    expect(readSettings(state()).connected).toEqual([]);
    expect(readConnection(state(), id)).toBeNull();
  });

  test("someone else's server of that name stays", () => {
    connect(client);
    const foreign = read(path).replace('/usr/bin/node', '/usr/bin/else');
    connect(client, { undo: true });
    put(path, foreign);
    expect(() => connect(client)).toThrow(
      /already has a server named repertoire that this command did not write/,
    );
    expect(() => connect(client, { undo: true })).toThrow(/not as this command wrote it/);
    expect(read(path)).toBe(foreign);
  });

  test('a file that is not valid stays', () => {
    const broken = '{ "mcpServers": = [\n';
    put(path, broken);
    expect(() => connect(client)).toThrow(/was left as it is, because it is not valid/);
    expect(read(path)).toBe(broken);
    put(path, '\uFFFD'.repeat(2));
    writeFileSync(join(home, path), Buffer.from([0xff, 0xfe, 0x7b, 0]));
    expect(() => connect(client)).toThrow(/no text in UTF-8/);
  });
});

test('a new way to start the server replaces the old one, and keeps what the client added', () => {
  const path = '.claude.json';
  put(path, '{}');
  connect('claude-code', { wslDistro: 'Ubuntu' });
  const entry = () => JSON.parse(read(path)).mcpServers.repertoire;
  expect(entry().env).toEqual({ REPERTOIRE_WSL_DISTRO: 'Ubuntu' });
  put(path, read(path).replace('"type": "stdio"', '"alwaysLoad": true,\n      "type": "stdio"'));
  expect(connect('claude-code', { command: ['repertoire'] })).toMatchObject({ done: 'connected' });
  expect(entry()).toEqual({ type: 'stdio', command: 'repertoire', args: ['mcp'], alwaysLoad: true });
  connect('claude-code', { undo: true });
  expect(JSON.parse(read(path))).toEqual({});
});

test('codex: tables below the server go and come with it, those of others stay', () => {
  const path = '.codex/config.toml';
  put(path, 'model = "m"\n');
  connect('codex', { env: { REPERTOIRE_STATE: join(home, 'state') } });
  const added = `${read(path)}\n[mcp_servers.repertoire.tools.skills]\napproval_mode = "approve"\n\n# about other\n["mcp_servers".other]\ncommand = "x"\n`;
  put(path, added);
  const env = { REPERTOIRE_STATE: join(home, 'state') };
  connect('codex', { env, command: ['repertoire'] });
  expect(parse(read(path)).mcp_servers).toEqual({
    other: { command: 'x' },
    repertoire: {
      command: 'repertoire',
      args: ['mcp'],
      env,
      tools: { skills: { approval_mode: 'approve' } },
    },
  });
  connect('codex', { env, undo: true });
  expect(read(path)).toBe('model = "m"\n\n# about other\n["mcp_servers".other]\ncommand = "x"\n');
});

test('codex: servers in an inline table are refused', () => {
  const text = 'mcp_servers = { other = { command = "x" } }\n';
  put('.codex/config.toml', text);
  expect(() => connect('codex')).toThrow(/cannot be changed safely; add or remove/);
  expect(read('.codex/config.toml')).toBe(text);
});

test('undo after other servers came and went leaves their bytes', () => {
  const path = '.cursor/mcp.json';
  connect('cursor');
  put(path, read(path).replace('"repertoire"', '"later": {"command": "y"},\n    "repertoire"'));
  connect('cursor', { undo: true });
  expect(JSON.parse(read(path))).toEqual({ mcpServers: { later: { command: 'y' } } });
});

test('a key that is there twice is refused: clients read the last, an edit changes the first', () => {
  put('.claude.json', '{"mcpServers":{"a":{}},"mcpServers":{}}');
  expect(() => connect('claude-code')).toThrow(/"mcpServers" is there twice/);
});

test('byte order mark, mode and link stay', () => {
  const real = put('dotfiles/settings.json', '\uFEFF{}\n');
  chmodSync(real, 0o640);
  mkdirSync(join(home, '.gemini'));
  symlinkSync(real, join(home, '.gemini/settings.json'));
  connect('gemini');
  expect(lstatSync(join(home, '.gemini/settings.json')).isSymbolicLink()).toBe(true);
  expect(read('dotfiles/settings.json')).toMatch(/^\uFEFF\{\n {2}"mcpServers"/);
  expect(statSync(real).mode & 0o777).toBe(0o640);
  connect('gemini', { undo: true });
  expect(read('dotfiles/settings.json')).toBe('\uFEFF{}\n');
  expect(readdirSync(join(home, 'dotfiles'))).toEqual(['settings.json']);
});

test('a link that leads nowhere is refused', () => {
  mkdirSync(join(home, '.cursor'));
  symlinkSync(join(home, 'gone.json'), join(home, '.cursor/mcp.json'));
  expect(() => connect('cursor')).toThrow(/a link to a file that is not there/);
});

test('what is no file is refused', () => {
  mkdirSync(join(home, '.cursor/mcp.json'), { recursive: true });
  expect(() => connect('cursor')).toThrow(/mcp\.json was left as it is, because it is no file\.$/);
});

test('opencode: the commented file is used where there is one', () => {
  put('.config/opencode/opencode.jsonc', '{\n  // mine\n}\n');
  expect(connect('opencode').path).toBe(join(home, '.config/opencode/opencode.jsonc'));
  expect(read('.config/opencode/opencode.jsonc')).toContain('// mine');
  expect(existsSync(join(home, '.config/opencode/opencode.json'))).toBe(false);
});

test('an unknown name lists the known ones', () => {
  expect(() => connect('emacs')).toThrow(
    'There is no client named emacs to connect; the names are claude-code, codex, cursor, opencode, gemini, copilot.',
  );
  expect(connect('gemini-cli', { dryRun: true }).client).toBe('gemini-cli');
});
