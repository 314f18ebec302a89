import { expect, test } from 'vitest';
import { CLIENTS, type ClientId, recogniseClient, WRITTEN_CLIENTS } from '../../schema/clients.ts';

const handshakes: [string, ClientId][] = [
  ['claude-code', 'claude-code'],
  ['codex-mcp-client', 'codex'],
  ['cursor-vscode', 'cursor'],
  ['cursor-vscode (via mcp-remote 0.1.38)', 'cursor'],
  ['opencode', 'opencode'],
  ['gemini-cli-mcp-client', 'gemini-cli'],
  ['copilot-cli', 'copilot-cli'],
  ['qwen-cli-mcp-client-repertoire', 'qwen-code'],
  ['@cline/core', 'cline-cli'],
  ['claude-ai', 'claude-apps'],
  ['Anthropic/ClaudeAI', 'claude-apps'],
  ['local-agent-mode-repertoire', 'claude-apps'],
  ['openai-mcp', 'chatgpt'],
  ['ChatGPT', 'chatgpt'],
  ['Visual Studio Code', 'vscode'],
  ['Visual-Studio-Code - Insiders', 'vscode'],
  ['Cline', 'cline'],
  ['Roo Code', 'roo'],
  ['Kilo-Code', 'kilo'],
  ['goose', 'goose'],
  ['amp-mcp-client', 'amp'],
  ['crush', 'crush'],
  ['Windsurf', 'windsurf'],
  ['windsurf-client-1', 'windsurf'],
  ['Zed', 'zed'],
  ['factory-cli', 'droid'],
  ['antigravity-client', 'antigravity'],
];

test.each(handshakes)('the handshake name %s is %s', (name, id) => {
  expect(recogniseClient({ name })?.id).toBe(id);
});

test('every exact name also matches through mcp-remote', () => {
  for (const client of CLIENTS) {
    for (const name of client.names) {
      expect(recogniseClient({ name: `${name} (via mcp-remote 0.1.38)` })?.id, name).toBe(client.id);
    }
  }
});

test.each([
  'claude-code-2',
  'Claude-Code',
  'opencodex',
  'my cursor-vscode',
  'mcp',
  '',
  'claude-code(via mcp-remote)',
])('the name %j is unknown', (name) => expect(recogniseClient({ name })).toBeNull());

test.each<[string, ClientId | undefined]>([
  ['https://claude.ai/oauth/mcp-oauth-client-metadata', 'claude-apps'],
  ['https://claude.ai/oauth/claude-code-client-metadata', 'claude-code'],
  ['https://chatgpt.com/oauth/codex/client.json', 'codex'],
  ['https://chatgpt.com/oauth/abc123/client.json', 'chatgpt'],
  ['https://opencode.ai/oauth/opencode/client.json', 'opencode'],
  ['https://chatgpt.com.evil.example/oauth/abc/client.json', undefined],
  ['https://chatgpt.com/oauth/a/b/client.json', undefined],
  ['claude-code', undefined],
])('the client id %s is %s', (clientId, id) => {
  expect(recogniseClient({ clientId })?.id).toBe(id);
});

test('the client id counts before the name, and an unknown id leaves the name to count', () => {
  const clientId = 'https://claude.ai/oauth/mcp-oauth-client-metadata';
  expect(recogniseClient({ clientId, name: 'claude-code' })?.id).toBe('claude-apps');
  expect(recogniseClient({ clientId: 'dyn-4711', name: 'claude-code' })?.id).toBe('claude-code');
  expect(recogniseClient({})).toBeNull();
});

test('ids, names and client ids are each unique', () => {
  for (const values of [
    CLIENTS.map((client) => client.id),
    CLIENTS.flatMap((client) => client.names),
    CLIENTS.flatMap((client) => client.clientIds),
  ]) {
    expect(new Set(values).size).toBe(values.length);
  }
});

test('the clients whose folders we write', () => {
  expect(WRITTEN_CLIENTS.map((client) => client.id)).toEqual([
    'claude-code',
    'codex',
    'cursor',
    'opencode',
    'gemini-cli',
    'copilot-cli',
  ]);
  expect(CLIENTS.filter((client) => client.written)).toEqual(WRITTEN_CLIENTS);
});
