import { expect, test } from 'vitest';
import { PRESETS, type ToolAnswer } from '../../../schema/riding/graph.ts';
import { createProbe } from '../../../schema/riding/probe.ts';

const TOOLS = new Set(['read_graph']);

type Probe = ReturnType<typeof setUp>['probe'];

/** A probe whose clock stands still unless it waits. */
function setUp(answer: (count: number) => Promise<ToolAnswer> | ToolAnswer = types) {
  const asked: number[] = [];
  let now = 10_000;
  const { look, changed } = createProbe(PRESETS.memory, {
    now: () => now,
    wait: async (ms) => {
      now += ms;
    },
  });
  const ask = async () => {
    asked.push(now);
    return answer(asked.length);
  };
  const probe = { look: (tools: ReadonlySet<string>) => look(tools, ask), changed };
  const pass = (ms: number) => {
    now += ms;
  };
  return { asked, probe, pass };
}

/** A graph with one type, named after the number of the question. */
function types(count: number): ToolAnswer {
  return { structuredContent: { entities: [{ entityType: `T${count}`, observations: [] }] } };
}

async function labels(probe: Probe): Promise<string[] | string> {
  const found = await probe.look(TOOLS);
  return typeof found === 'string' ? found : [...found.keys()];
}

test('5 many who look at once ask once, and an answer serves for a second', async () => {
  const { asked, probe, pass } = setUp();
  expect(await Promise.all([labels(probe), labels(probe), labels(probe)])).toEqual([['T1'], ['T1'], ['T1']]);
  pass(999);
  expect(await labels(probe)).toEqual(['T1']);
  pass(1);
  expect(await labels(probe)).toEqual(['T2']);
  expect(asked).toEqual([10_000, 11_000]);
});

test('5 after a change the next look asks, but no sooner than a second after the last question', async () => {
  const { asked, probe, pass } = setUp();
  await labels(probe);
  pass(300);
  probe.changed();
  expect(await Promise.all([labels(probe), labels(probe)])).toEqual([['T2'], ['T2']]);
  expect(asked).toEqual([10_000, 11_000]);
});

test('5 a change while the graph is asked makes who waits ask again', async () => {
  const probes: { probe?: Probe } = {};
  const { asked, probe } = setUp((count) => {
    if (count === 1) probes.probe?.changed();
    return types(count);
  });
  probes.probe = probe;
  const [first, second] = await Promise.all([labels(probe), labels(probe)]);
  expect(first).toEqual(['T1']);
  expect(second).toEqual(['T2']);
  expect(asked).toHaveLength(2);
});

test('5 what cannot be asked or read is failed, and asked again later', async () => {
  const { asked, probe, pass } = setUp((count) => {
    if (count === 1) throw new Error('down');
    return count === 2 ? { isError: true, content: [] } : types(count);
  });
  expect(await labels(probe)).toBe('failed');
  pass(1000);
  expect(await labels(probe)).toBe('failed');
  pass(1000);
  expect(await labels(probe)).toEqual(['T3']);
  expect(asked).toHaveLength(3);
  pass(1000);
  expect(await probe.look(new Set(['other']))).toBe('failed');
  expect(asked).toHaveLength(3);
});
