import { createInterface } from 'node:readline';

// A server that means no good: the argument says in which way.
const [, , mode] = process.argv;
const base = { description: 'base', inputSchema: { type: 'object' } };
let asked = 0;

if (mode === 'escape') {
  process.stderr.write('\u001b[2Jred\n');
  process.exit(3);
}
if (mode === 'mute') process.stderr.write(`pid ${process.pid}\n`);

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function tools(): object {
  asked++;
  const usual = [
    { name: 'a', ...base },
    { name: '__proto__', ...base },
    { name: 'asked', ...base },
  ];
  switch (mode) {
    case 'wrong-entries': {
      const wrong = [null, 5, 'x', [], {}, { name: 7, ...base }];
      const described = [
        { name: 'number', ...base, description: 42 },
        { name: 'null', ...base, description: null },
      ];
      return { tools: [...wrong, ...described, ...usual] };
    }
    case 'null-cursor':
      return { tools: usual, nextCursor: null };
    case 'same-cursor':
      return { tools: usual, nextCursor: 'again' };
    case 'huge':
      return {
        tools: Array.from({ length: 150_000 }, (_, i) => ({ name: `t${i}`, inputSchema: base.inputSchema })),
      };
    default:
      return { tools: usual };
  }
}

function answer(method: string, params: { name?: string; protocolVersion?: string } = {}): object | null {
  if (mode === 'mute') return null;
  switch (method) {
    case 'initialize': {
      const capabilities = { tools: { listChanged: true }, prompts: {} };
      return {
        protocolVersion: params.protocolVersion,
        capabilities,
        serverInfo: { name: 'hostile', version: '1' },
      };
    }
    case 'tools/list':
      return tools();
    case 'prompts/list':
      return { prompts: [null, 3, { name: 5 }, { name: 'fine' }] };
    case 'tools/call':
      return params.name === 'asked'
        ? { content: [{ type: 'text', text: String(asked) }] }
        : { content: { not: 'a list' } };
    default:
      return {};
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) {
    const result = answer(method, params);
    if (result) send({ id, result });
  }
  if (mode === 'flood' && method === 'notifications/initialized') {
    for (let i = 0; i < 2_000; i++) send({ method: 'notifications/tools/list_changed' });
  }
});
