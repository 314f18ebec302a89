import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startGateway, type TestGateway } from './harness.ts';
import { type RunningUpstream, startEverything } from './upstreams.ts';

let gateway: TestGateway;
let everything: RunningUpstream;

beforeAll(async () => {
  [gateway, everything] = await Promise.all([startGateway(), startEverything()]);
  await gateway.addServer('everything', everything.url, { manifest: 'skills: true\n' });
  await gateway.addSkill(
    'echo',
    '---\nname: echo\ndescription: "TRIGGER on echoes."\n---\n\nSay it twice.\n',
  );
});

afterAll(async () => {
  await gateway?.stop();
  await everything?.stop();
});

describe.each(['auto', 'legacy'] as const)('a client that negotiates %s', (mode) => {
  test('lists the tools with skills riding on them, and calls them', async () => {
    const client = await gateway.connect('/mcp/everything', { mode });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'echo')?.description).toBe(
      'Echoes back the input string\n\n<!-- mcp-skill:echo -->\n\n## When to use\n\nTRIGGER on echoes.\n\n## Methodology\n\nSay it twice.',
    );
    expect(tools.at(-1)?.name).toBe('skills');
    const answer = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
    expect(answer.content).toEqual([{ type: 'text', text: 'Echo: hi' }]);
  });
});
