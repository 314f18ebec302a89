import { expect, test } from 'vitest';
import { exposeNames } from '../../../schema/riding/names.ts';

test('names that fit are the server’s and the tool’s, or the tool’s alone', async () => {
  const tools = [
    { server: 'mem', tool: 'read_graph' },
    { server: null, tool: 'read-graph' },
  ];
  expect(await exposeNames(tools)).toEqual(['mem_read_graph', 'read-graph']);
});

test('others are cut to 64 of the accepted characters and end in a hash', async () => {
  const tools = [
    { server: 'mem', tool: 'x'.repeat(100) },
    { server: null, tool: 'a.b/c d' },
    { server: null, tool: 'größe' },
    { server: null, tool: '' },
    { server: 's'.repeat(64), tool: 't' },
    { server: 'under_score', tool: 't' },
    { server: 'mem', tool: 'looks_like_0123abcd' },
  ];
  for (const name of await exposeNames(tools))
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,55}_[0-9a-f]{8}$|^_[0-9a-f]{8}$/);
});

test('no two pairs share a name, and no name depends on the others', async () => {
  const long = 'l'.repeat(70);
  const tools = [
    { server: 'a', tool: 'b_c' },
    { server: 'a_b', tool: 'c' },
    { server: null, tool: 'a_b_c' },
    { server: 'a', tool: 'b.c' },
    { server: 'a', tool: 'b c' },
    { server: 'a', tool: `${long}1` },
    { server: 'a', tool: `${long}2` },
    { server: 'b', tool: `${long}1` },
  ].filter(({ server }) => server !== null);
  const exposed = await exposeNames(tools);
  expect(new Set(exposed).size).toBe(tools.length);
  expect(await exposeNames(tools.toReversed())).toEqual(exposed.toReversed());
  for (const [index, tool] of tools.entries()) expect(await exposeNames([tool])).toEqual([exposed[index]]);
  const forged = exposed.at(-1)?.slice('b_'.length) ?? '';
  expect(await exposeNames([{ server: 'b', tool: forged }])).not.toEqual([exposed.at(-1)]);
});
