import { beforeEach, expect, test } from 'vitest';
import type { ItemHistory } from '../../../schema/api.ts';
import { openTestApi, type TestApi } from './harness.ts';

const WRITERS = 8;
const ROUNDS = 12;

let api: TestApi;
let token: string;

beforeEach(async () => {
  api = await openTestApi();
  token = await api.token();
});

const item = '/api/v1/items/skill/shared';

async function create(): Promise<void> {
  const body = { kind: 'skill', name: 'shared', description: 'Shared.', instructions: 'Start.\n' };
  expect((await api.call('/api/v1/items', { method: 'POST', token, body })).status).toBe(201);
}

async function history(): Promise<ItemHistory> {
  return (await api.call(`${item}/history`, { token })).json;
}

/** Appends its line to the text that it read, and starts over when another came first. */
async function append(line: string): Promise<{ revision: number; refused: number }> {
  for (let refused = 0; ; refused++) {
    const head = await api.call(item, { token });
    const file = await api.call(`${item}/files/notes.md`, { token });
    const notes = file.status === 200 ? file.text : '';
    const { status, json, problem } = await api.call(item, {
      method: 'PATCH',
      token,
      body: { expected_revision: head.json.revision, files: { 'notes.md': { text: `${notes}${line}\n` } } },
    });
    if (status === 200) return { revision: json.item.revision, refused };
    expect(problem.code).toBe('conflict');
    expect(problem.details?.current_revision).toBeGreaterThan(head.json.revision);
  }
}

test('eight writers that name their revision lose no update', async () => {
  await create();
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    const mine: number[] = [];
    let refused = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const done = await append(`${writer}.${round}`);
      mine.push(done.revision);
      refused += done.refused;
    }
    return { mine, refused };
  });
  const results = await Promise.all(writers);
  const total = WRITERS * ROUNDS;
  expect(results.reduce((sum, { refused }) => sum + refused, 0)).toBeGreaterThan(0);
  for (const { mine } of results) expect(mine).toEqual([...mine].sort((a, b) => a - b));
  expect(results.flatMap(({ mine }) => mine).sort((a, b) => a - b)).toEqual(
    Array.from({ length: total }, (_, i) => i + 2),
  );

  const { revisions, changes } = await history();
  expect(revisions.map(({ revision, parent }) => [revision, parent])).toEqual(
    Array.from({ length: total + 1 }, (_, i) => [total + 1 - i, total - i || null]),
  );
  const seqs = changes.map(({ seq }) => seq);
  expect(new Set(seqs).size).toBe(total + 1);
  expect(Math.max(...seqs) - Math.min(...seqs)).toBe(total);

  const { text } = await api.call(`${item}/files/notes.md`, { token });
  const lines = text.trimEnd().split('\n');
  expect(new Set(lines).size).toBe(total);
  expect(lines).toHaveLength(total);
  for (let writer = 0; writer < WRITERS; writer++) {
    const own = lines.filter((line) => line.startsWith(`${writer}.`));
    expect(own).toEqual(Array.from({ length: ROUNDS }, (_, round) => `${writer}.${round}`));
  }
});

test('of writers on one revision exactly one gets through, whatever each of them does', async () => {
  await create();
  for (let round = 0; round < 10; round++) {
    const { json: head } = await api.call(item, { token });
    const expected_revision = head.revision;
    const call = (path: string, method: string, body?: unknown) =>
      api.call(path, { method, token, ...(body === undefined ? {} : { body }) });
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, (_, i) =>
        call(item, 'PATCH', { expected_revision, description: `Round ${round}, writer ${i}.` }),
      ),
      call(`${item}/restore`, 'POST', { expected_revision, revision: 1 }),
    ]);
    const codes = answers.map(({ status, problem }) => (status === 200 ? 'written' : problem.code));
    expect(codes.filter((code) => code === 'written')).toHaveLength(1);
    const { json } = await api.call(item, { token });
    expect(json.revision).toBe(expected_revision + 1);
  }
});

test('of many who create one name at once exactly one does', async () => {
  const answers = await Promise.all(
    Array.from({ length: WRITERS }, (_, i) =>
      api.call('/api/v1/items', {
        method: 'POST',
        token,
        body: { kind: 'persona', name: 'one', description: `By ${i}.`, instructions: 'Be.' },
      }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(WRITERS - 1).fill(409)]);
  const winner = answers.find(({ status }) => status === 201);
  const { json } = await api.call('/api/v1/items/persona/one', { token });
  expect(json.description).toBe(winner?.json.item.description);
});
