import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openMirror } from '../../agent/mirror.ts';
import { isBefore, type Pull, pullChanges } from '../../agent/pull.ts';
import type { ChangedItem, ChangesPage } from '../../schema/api.ts';
import { digestInput } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { freshFolder } from './registry.ts';

const sha = (content: string | Uint8Array) => hash('sha256', content, 'hex');

function item(name: string, texts: Record<string, string>, changes: Partial<ChangedItem> = {}): ChangedItem {
  const files = Object.entries(texts).map(([path, text]) => ({
    path,
    text,
    digest: sha(text),
    size: Buffer.byteLength(text),
    executable: false,
  }));
  return {
    id: `id-${name}`,
    kind: 'skill',
    name,
    description: '',
    state: 'active',
    revision: 1,
    digest: sha(digestInput(files)),
    flags: [],
    updated_at: 1,
    files,
    ...changes,
  };
}

const page = (cursor: string, items: ChangedItem[], more = false): ChangesPage => ({
  cursor,
  start_over: false,
  more,
  items,
});

/** A registry that answers as told, in order; what is asked of it is in `asked`. */
function scripted(
  answers: (ChangesPage | RegistryError)[],
  blobs: Record<string, Uint8Array<ArrayBuffer>> = {},
) {
  const asked: (string | null)[] = [];
  const registry: Pull['registry'] = {
    async changes(since) {
      asked.push(since);
      const answer = answers.shift();
      if (!answer) throw new Error('asked once too often');
      if (answer instanceof RegistryError) throw answer;
      return answer;
    },
    async blob(digest) {
      const bytes = blobs[digest];
      if (!bytes) throw new RegistryError('not_found', 'There is no such content.');
      return bytes;
    },
  };
  return { registry, asked };
}

const delays = [1, 1, 1];

describe('pulling', () => {
  it('follows the pages to the end and keeps what a page does not name', async () => {
    const folder = freshFolder();
    const mirror = openMirror(folder);
    const first = scripted([
      page('e:1', [item('one', { 'SKILL.md': '1' })], true),
      page('e:2', [item('two', { 'SKILL.md': '2' })]),
    ]);
    await pullChanges({ mirror, registry: first.registry, delays });
    expect(first.asked).toEqual([null, 'e:1']);

    const again = openMirror(folder);
    const snapshot = {
      ...page('e:9', [item('two', { 'SKILL.md': '3' }, { revision: 2 })]),
      start_over: true,
    };
    const changed = await pullChanges({ mirror: again, ...scripted([snapshot]), afresh: true, delays });
    expect([...changed]).toEqual(['id-two']);
    // The registry may have given its name to another one by now.
    expect(again.item('id-one')).toBeUndefined();
    expect(Buffer.from(again.content(sha('3')) ?? []).toString()).toBe('3');
    expect(openMirror(folder, { readOnly: true }).cursor).toBe('e:9');
  });

  it('tells what changed also where a later page fails', async () => {
    const mirror = openMirror(freshFolder());
    const changed = new Set<string>();
    const away = new RegistryError('unavailable', 'It is away.');
    const { registry } = scripted([page('e:1', [item('one', { 'SKILL.md': '1' })], true), away]);
    await expect(pullChanges({ mirror, registry, changed, delays })).rejects.toBe(away);
    expect([...changed]).toEqual(['id-one']);
    expect(mirror.cursor).toBe('e:1');
  });

  it('asks again for an answer that is older than the ring', async () => {
    const mirror = openMirror(freshFolder());
    const { registry, asked } = scripted([
      page('e:1', []),
      page('e:1', []),
      page('e:2', [item('late', { 'SKILL.md': 'x' })]),
    ]);
    const changed = await pullChanges({ mirror, registry, rung: 'e:2', delays });
    expect([asked.length, ...changed]).toEqual([3, 'id-late']);
  });

  it('believes a registry that went back in time only when it says so repeatedly', async () => {
    const mirror = openMirror(freshFolder());
    await pullChanges({ mirror, ...scripted([page('e:5', [])]), delays });
    const rewound = () => new RegistryError('registry_rewound', 'It went back.', { cursor: 'e:3' });
    const lagging = scripted([rewound(), page('e:6', [])]);
    await pullChanges({ mirror, registry: lagging.registry, delays });
    expect(mirror.cursor).toBe('e:6');
    const real = scripted([rewound(), rewound(), rewound(), rewound()]);
    await expect(pullChanges({ mirror, registry: real.registry, delays })).rejects.toMatchObject({
      code: 'registry_rewound',
    });
    expect(mirror.cursor).toBe('e:6');
  });

  it('fetches what is not inline, and leaves an item whose bytes are missing or wrong for later', async () => {
    const mirror = openMirror(freshFolder());
    const bytes = new Uint8Array([0, 255]);
    const big = item('big', { 'SKILL.md': 'b', 'x.bin': '' });
    const [main, binary] = big.files;
    if (!main || !binary) throw new Error('two files');
    const { text: _, ...bare } = { ...binary, digest: sha(bytes), size: 2 };
    const whole = { ...big, files: [main, bare], digest: sha(digestInput([main, bare])) };
    await pullChanges({
      mirror,
      ...scripted([page('e:1', [whole])], { [sha(bytes)]: Buffer.from('no') }),
      delays,
    });
    expect(mirror.has(sha(bytes))).toBe(false);
    await pullChanges({ mirror, ...scripted([page('e:2', [whole])], { [sha(bytes)]: bytes }), delays });
    expect(mirror.content(sha(bytes))).toEqual(Buffer.from(bytes));
  });

  it('ends with a registry that announces more and gives nothing', async () => {
    const mirror = openMirror(freshFolder());
    await pullChanges({ mirror, ...scripted([page('e:1', [])]), delays });
    await expect(pullChanges({ mirror, ...scripted([page('e:1', [], true)]), delays })).rejects.toMatchObject(
      {
        code: 'unavailable',
      },
    );
  });
});

describe('a hostile registry', () => {
  it.each([
    ['a path that leads out', item('evil', { 'SKILL.md': 'x', '../../out.md': 'x' })],
    ['an absolute path', item('evil', { 'SKILL.md': 'x', '/etc/passwd': 'x' })],
    ['a Windows device', item('evil', { 'SKILL.md': 'x', 'sub/con.txt': 'x' })],
    ['a path inside .git', item('evil', { 'SKILL.md': 'x', '.git/hooks/post-checkout': 'x' })],
    ['two paths that are one on some systems', item('evil', { 'SKILL.md': 'x', 'a.md': 'x', 'A.md': 'x' })],
    ['a file that is also a folder', item('evil', { 'SKILL.md': 'x', a: 'x', 'a/b': 'x' })],
    ['a name that leads out', item('../evil', { 'SKILL.md': 'x' })],
    ['a name that is a Windows device', item('con', { 'SKILL.md': 'x' })],
    ['no main file', item('evil', { 'README.md': 'x' })],
    ['files that do not match its digest', item('evil', { 'SKILL.md': 'x' }, { digest: sha('other') })],
    [
      'bytes that do not match their digest',
      (() => {
        const lie = item('evil', { 'SKILL.md': 'x' });
        return { ...lie, files: lie.files.map((file) => ({ ...file, text: 'y' })) };
      })(),
    ],
  ])('has %s refused and said, and the others go on', async (_, evil) => {
    const mirror = openMirror(freshFolder());
    await pullChanges({
      mirror,
      ...scripted([page('e:1', [evil, item('good', { 'SKILL.md': 'fine' })])]),
      delays,
    });
    expect(mirror.item(evil.id)).toMatchObject({
      files: [],
      refused: expect.stringMatching(/^The registry sent .+\.$/),
    });
    expect(mirror.item('id-good')).not.toHaveProperty('refused');
    expect(mirror.cursor).toBe('e:1');
  });
});

describe('the mirror', () => {
  it('takes bytes that no longer match their name as absent', async () => {
    const folder = freshFolder();
    const mirror = openMirror(folder);
    mirror.keep(sha('right'), Buffer.from('wrong'));
    expect(mirror.has(sha('right'))).toBe(true);
    expect(mirror.content(sha('right'))).toBeNull();
    expect(mirror.has(sha('right'))).toBe(false);
  });

  it('sweeps bytes that no item needs, and makes nothing where it is only read', async () => {
    const folder = freshFolder();
    const mirror = openMirror(folder);
    await pullChanges({ mirror, ...scripted([page('e:1', [item('one', { 'SKILL.md': '1' })])]), delays });
    mirror.keep(sha('old'), Buffer.from('old'));
    mirror.sweep();
    expect([mirror.has(sha('old')), mirror.has(sha('1'))]).toEqual([false, true]);
    openMirror(`${folder}-none`, { readOnly: true });
    expect(existsSync(`${folder}-none`)).toBe(false);
  });
});

describe('the order of cursors', () => {
  it.each([
    ['e:1', 'e:2', true],
    ['e:2', 'e:10', true],
    ['e:2', 'e:2', false],
    ['e:3', 'e:2', false],
    ['f:1', 'e:2', false],
    [null, 'e:2', false],
    ['e:1', null, false],
  ])('%s before %s is %s', (cursor, other, before) => {
    expect(isBefore(cursor, other)).toBe(before);
  });
});
