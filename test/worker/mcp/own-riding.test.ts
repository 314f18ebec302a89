import { expect, test } from 'vitest';
import { BUNDLED } from '../../../schema/riding/bundled.ts';
import { TOOLS } from '../../../schema/tools.ts';
import { openTestMcp } from './harness.ts';

const bodyOf = (key: string) =>
  BUNDLED.find((registration) => registration.key === key)
    ?.text.split('---\n')
    .slice(2)
    .join('---\n')
    .trim() ?? '';

async function descriptions(client: string, readOnly = false) {
  const mcp = await openTestMcp();
  const token = await mcp.token(readOnly ? ['skills:read'] : undefined);
  const { result } = await mcp.rpc('tools/list', {}, { token, client });
  const texts: Record<string, string> = Object.fromEntries(
    result.tools.map((tool: { name: string; description: string }) => [tool.name, tool.description]),
  );
  return { mcp, token, texts };
}

test('each of our own tools carries its own skill, whole where no cap is known', async () => {
  const { texts } = await descriptions('nobody-knows-it');
  for (const name of ['skills', 'skill_edit']) {
    expect(texts[name]).toContain(`<!-- mcp-skill:${name} -->`);
    expect(texts[name]?.endsWith(bodyOf(name))).toBe(true);
  }
});

test('where the whole would pass the cap of the client, the method is named and can be loaded', async () => {
  const { mcp, token, texts } = await descriptions('claude-code');
  expect(texts.skill_edit?.length).toBeLessThanOrEqual(2048);
  const chatgpt = await descriptions('openai-mcp');
  expect(chatgpt.texts.skill_edit?.length).toBeLessThanOrEqual(1024);
  expect(chatgpt.texts.skill_edit).toContain('call `skills` with action "get" and name "skill_edit"');
  const { json } = await mcp.tool('skills', { action: 'get', name: 'skill_edit' }, { token });
  expect(json.text.trim()).toBe(bodyOf('skill_edit'));
});

test('a client of the older revisions is told on a list by its user agent, and by a name before that', async () => {
  const mcp = await openTestMcp();
  const token = await mcp.token();
  const lengthFor = async (agent: string, call: { revision?: string; client?: string }) => {
    const { result } = await mcp.rpc('tools/list', {}, { token, headers: { 'user-agent': agent }, ...call });
    return result.tools[1].description.length;
  };
  const legacy = { revision: '2025-06-18' };
  const whole = await lengthFor('node', legacy);
  expect(whole).toBeGreaterThan(1024);
  expect(await lengthFor('codex-mcp-client/0.171.0', legacy)).toBeLessThanOrEqual(1024);
  expect(await lengthFor('claude-code/2.1.332 (sdk-cli)', legacy)).toBe(whole);
  expect(await lengthFor('codex-mcp-client/0.171.0', { client: 'nobody-knows-it' })).toBe(whole);
});

test('where not even that fits, the description is what it was', async () => {
  const { texts } = await descriptions('qwen-cli-mcp-client-x');
  expect(texts.skill_edit).toBe(TOOLS.skill_edit.description);
});

test('an item of that name comes before our own skill, and a name that nothing has is refused', async () => {
  const mcp = await openTestMcp();
  const token = await mcp.token();
  await mcp.tool(
    'skill_edit',
    { action: 'create', name: 'skills', description: 'Mine.', instructions: 'Mine.\n' },
    { token },
  );
  const { json } = await mcp.tool('skills', { action: 'get', name: 'skills' }, { token });
  expect(json.revision).toBe(1);
  expect((await mcp.tool('skills', { action: 'get', name: 'nothing' }, { token })).isError).toBe(true);
});
