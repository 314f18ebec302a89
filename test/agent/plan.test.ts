import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type BrakeInput, brake, type Decision, decide, type OnDisk, type Spot } from '../../agent/plan.ts';
import type { Placement } from '../../agent/state.ts';
import type { Want } from '../../agent/wanted.ts';
import { Random } from './random.ts';

const digest = (text: string) => hash('sha256', text, 'hex');

type Texts = Record<string, string>;

function want(files: Texts, changes: Partial<Want> = {}): Want {
  const entries = Object.entries(files).map(([path, text]) => ({
    path: `greet/${path}`,
    digest: digest(text),
    executable: false,
  }));
  return { item: 'i1', kind: 'skill', name: 'greet', revision: 2, at: 'greet', files: entries, ...changes };
}

function placed(files: Texts, changes: Partial<Placement> = {}): Placement {
  const own = Object.entries(files).map(
    ([path, text]) => [`greet/${path}`, { digest: digest(text), executable: false }] as const,
  );
  return {
    folder: '/skills',
    at: 'greet',
    item: 'i1',
    kind: 'skill',
    name: 'greet',
    revision: 1,
    how: 'written',
    files: Object.fromEntries(own),
    ...changes,
  };
}

function spot(parts: {
  want?: Want;
  placed?: Placement;
  disk?: Texts | 'link' | null;
  odd?: string[];
  gone?: boolean;
  skip?: boolean;
}): Spot {
  const { disk = null, odd = [], gone = false, skip = false } = parts;
  const files = new Map<string, OnDisk>();
  for (const [path, text] of Object.entries(typeof disk === 'object' ? (disk ?? {}) : {})) {
    files.set(`greet/${path}`, { digest: digest(text), executable: false });
  }
  const standing: Spot['standing'] =
    disk === null
      ? { is: 'absent' }
      : disk === 'link'
        ? { is: 'taken', what: 'a link' }
        : { is: 'there', files, odd: odd.map((path) => `greet/${path}`) };
  return {
    folder: '/skills',
    at: 'greet',
    want: parts.want ?? null,
    placed: parts.placed ?? null,
    standing,
    gone,
    skip,
  };
}

function writes(decision: Decision | null): string[] {
  return decision?.do === 'update' ? decision.writes.map(({ path }) => path) : [];
}

describe('an item that the ledger does not list', () => {
  it('appears whole where nothing stands', () => {
    expect(decide(spot({ want: want({ 'SKILL.md': 'a' }) }))?.do).toBe('place');
  });

  it('is adopted where the same bytes stand, beside files that stay the person’s', () => {
    const disk = { 'SKILL.md': 'a', 'notes.txt': 'mine' };
    expect(decide(spot({ want: want({ 'SKILL.md': 'a' }), disk }))?.do).toBe('adopt');
  });

  it.each([
    ['other bytes stand', { 'SKILL.md': 'mine' }],
    ['only some of its files stand', { 'SKILL.md': 'a' }],
    ['other files stand', { 'README.md': 'mine' }],
    ['a link stands', 'link'],
  ] as const)('is held back where %s', (_, disk) => {
    const decision = decide(spot({ want: want({ 'SKILL.md': 'a', 'x.sh': 'b' }), disk }));
    expect(decision).toMatchObject({ do: 'hold', state: 'held_back' });
  });

  it('fills a folder that holds nothing', () => {
    const decision = decide(spot({ want: want({ 'SKILL.md': 'a' }), disk: {} }));
    expect(decision).toMatchObject({ do: 'update', writes: [{ path: 'greet/SKILL.md', base: null }] });
  });

  it('is left out where the person chose to do without it, even when nothing stands there any more', () => {
    expect(decide(spot({ want: want({ 'SKILL.md': 'a' }), skip: true }))).toMatchObject({
      do: 'hold',
      state: 'held_back',
    });
  });
});

describe('an item that the agent placed', () => {
  it('is left alone when all is as wanted', () => {
    const files = { 'SKILL.md': 'a' };
    const decision = decide(
      spot({ want: want(files, { revision: 1 }), placed: placed(files), disk: { ...files, 'own.txt': 'x' } }),
    );
    expect(decision).toEqual({ do: 'nothing' });
  });

  it('gets the files that changed, new ones included, and loses those that went', () => {
    const decision = decide(
      spot({
        want: want({ 'SKILL.md': 'new', same: 's', added: 'x' }),
        placed: placed({ 'SKILL.md': 'old', same: 's', went: 'w' }),
        disk: { 'SKILL.md': 'old', same: 's', went: 'w', mine: 'mine' },
      }),
    );
    expect(decision).toMatchObject({
      do: 'update',
      writes: [
        { path: 'greet/SKILL.md', base: digest('old') },
        { path: 'greet/added', base: null },
      ],
      removals: [{ path: 'greet/went', digest: digest('w') }],
    });
  });

  it('is restored when the person deleted it, whole or in part', () => {
    const files = { 'SKILL.md': 'a', x: 'b' };
    const same = { want: want(files, { revision: 1 }), placed: placed(files) };
    expect(decide(spot(same))?.do).toBe('place');
    expect(writes(decide(spot({ ...same, disk: { 'SKILL.md': 'a' } })))).toEqual(['greet/x']);
  });

  it.each([
    ['edited', { 'SKILL.md': 'mine', x: 'old' }, []],
    ['replaced by a link', { x: 'old' }, ['SKILL.md']],
    ['edited where the new revision has it no more', { 'SKILL.md': 'old', x: 'mine' }, []],
  ])('is left alone as a whole when a file was %s', (_, disk, odd) => {
    const decision = decide(
      spot({
        want: want({ 'SKILL.md': 'new' }),
        placed: placed({ 'SKILL.md': 'old', x: 'old' }),
        disk,
        odd,
      }),
    );
    expect(decision).toMatchObject({ do: 'hold', state: 'changed_here' });
  });

  it('is held back when the new revision has a file where the person has one', () => {
    const decision = decide(
      spot({
        want: want({ 'SKILL.md': 'new', extra: 'ours' }),
        placed: placed({ 'SKILL.md': 'old' }),
        disk: { 'SKILL.md': 'old', extra: 'mine' },
      }),
    );
    expect(decision).toMatchObject({ do: 'hold', state: 'held_back' });
  });

  it('knows bytes again that it was writing when it was stopped', () => {
    const decision = decide(
      spot({
        want: want({ 'SKILL.md': 'third' }, { revision: 3 }),
        placed: placed(
          { 'SKILL.md': 'first' },
          { coming: { 'greet/SKILL.md': { digest: digest('second'), executable: false } } },
        ),
        disk: { 'SKILL.md': 'second' },
      }),
    );
    expect(decision).toMatchObject({ writes: [{ path: 'greet/SKILL.md', base: digest('second') }] });
  });

  it('takes a new executable bit from the registry, but not a mode that only the disk has', () => {
    const files = { run: '#!' };
    const wanted = want(files, { revision: 1 });
    const executable = { ...wanted, files: wanted.files.map((file) => ({ ...file, executable: true })) };
    expect(writes(decide(spot({ want: executable, placed: placed(files), disk: files })))).toEqual([
      'greet/run',
    ]);
    const recorded = placed(files, { files: { 'greet/run': { digest: digest('#!'), executable: true } } });
    expect(decide(spot({ want: executable, placed: recorded, disk: files }))).toEqual({ do: 'nothing' });
  });
});

describe('an item that should go', () => {
  const ours = { 'SKILL.md': 'a', x: 'b' };

  it('is removed by its files alone', () => {
    const decision = decide(spot({ placed: placed(ours), gone: true, disk: { ...ours, mine: 'mine' } }));
    expect(decision).toMatchObject({
      do: 'remove',
      removals: [
        { path: 'greet/SKILL.md', digest: digest('a') },
        { path: 'greet/x', digest: digest('b') },
      ],
    });
  });

  it('stays when the person edited it', () => {
    const decision = decide(spot({ placed: placed(ours), gone: true, disk: { 'SKILL.md': 'mine', x: 'b' } }));
    expect(decision).toMatchObject({ do: 'hold', state: 'changed_here' });
  });

  it('stays when the registry merely does not mention it', () => {
    expect(decide(spot({ placed: placed(ours), gone: false, disk: ours }))).toBeNull();
  });

  it('is forgotten when it is gone already', () => {
    expect(decide(spot({ placed: placed(ours), gone: true }))?.do).toBe('forget');
    expect(decide(spot({ placed: placed(ours), gone: true, disk: { mine: 'mine' } }))?.do).toBe('forget');
  });
});

describe('the brake', () => {
  const input = (gone: number, all: number, confirmed: string[] = []): BrakeInput => ({
    removals: new Map(Array.from({ length: gone }, (_, i) => [`i${i}`, `i${i}@1`])),
    placed: all,
    recent: 0,
    waited: new Set(),
    confirmed: new Set(confirmed),
  });

  it.each([
    [10, 100, 0],
    [11, 100, 11],
    [4, 5, 0],
    [5, 25, 0],
    [5, 24, 5],
    [6, 20, 6],
  ])('with %i of %i going holds %i', (gone, all, held) => {
    expect(brake(input(gone, all)).size).toBe(held);
  });

  it.each([
    [1, 100, 10, 1],
    [1, 100, 9, 0],
    [1, 20, 4, 1],
  ])('with %i of %i going after %i that just went holds %i', (gone, all, recent, held) => {
    expect(brake({ ...input(gone, all), recent }).size).toBe(held);
  });

  it('what waited goes on waiting when it is no longer many', () => {
    expect([...brake({ ...input(3, 100), waited: new Set(['i1@1']) })]).toEqual(['i1']);
  });

  it('lets go what was confirmed, and that removal alone', () => {
    const confirmed = Array.from({ length: 11 }, (_, i) => `i${i}@1`);
    expect(brake(input(11, 20, confirmed)).size).toBe(0);
    expect(
      brake(
        input(
          11,
          20,
          confirmed.map((key) => key.replace('@1', '@0')),
        ),
      ).size,
    ).toBe(11);
  });
});

describe('random spots', () => {
  const PATHS = ['SKILL.md', 'a', 'b', 'c'];
  const TEXTS = ['1', '2', '3'];

  function randomTexts(random: Random, chance: number): Texts {
    const paths = PATHS.filter(() => random.chance(chance));
    return Object.fromEntries(paths.map((path) => [path, random.pick(TEXTS)]));
  }

  /** Carries a decision out on a tree in memory, as `apply` does on disk. */
  function carryOut(before: Spot, decision: Decision): Spot {
    if (decision.do === 'hold') return before;
    const files = new Map(before.standing.is === 'there' ? before.standing.files : []);
    let ledger = before.placed;
    const wanted = before.want;
    const digests = new Map(wanted?.files.map((file) => [file.path, file]));
    const whole = (how: 'written' | 'adopted'): Placement => ({
      ...placed({}),
      how,
      revision: wanted?.revision ?? 0,
      files: Object.fromEntries(digests),
    });
    switch (decision.do) {
      case 'place':
        expect(before.standing.is).toBe('absent');
        for (const [path, file] of digests) files.set(path, file);
        ledger = whole('written');
        break;
      case 'update':
        for (const { path, base } of decision.writes) {
          expect(files.get(path)?.digest ?? null).toBe(base);
          files.set(path, digests.get(path) as OnDisk);
        }
        for (const { path } of decision.removals) files.delete(path);
        ledger = whole('written');
        break;
      case 'adopt':
        ledger = whole('adopted');
        break;
      case 'remove':
        for (const { path } of decision.removals) files.delete(path);
        ledger = null;
        break;
      case 'forget':
        ledger = null;
    }
    const standing: Spot['standing'] = files.size > 0 ? { is: 'there', files, odd: [] } : { is: 'absent' };
    return { ...before, placed: ledger, standing };
  }

  it('never lose a byte that is not the agent’s, and need no second pass', () => {
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 20_000; seed++) {
      const random = new Random(seed);
      const common = { 'SKILL.md': random.pick(TEXTS), ...randomTexts(random, 0.6) };
      const texts = () => (random.chance(0.5) ? common : randomTexts(random, 0.6));
      const coming = random.chance(0.2) ? { coming: placed(texts()).files } : {};
      const wanted = want({ 'SKILL.md': random.pick(TEXTS), ...texts() }, { revision: random.pick([1, 2]) });
      const before = spot({
        ...(random.chance(0.7) ? { want: wanted } : {}),
        ...(random.chance(0.7) ? { placed: placed(texts(), coming) } : {}),
        disk: random.chance(0.2) ? null : random.chance(0.05) ? 'link' : texts(),
        gone: random.chance(0.5),
        skip: random.chance(0.1),
      });
      const decision = decide(before);
      if (!decision) continue;
      kinds.add(decision.do);
      const after = carryOut(before, decision);
      const ours = (path: string, found: string) =>
        before.placed?.files[path]?.digest === found || before.placed?.coming?.[path]?.digest === found;
      const now = after.standing.is === 'there' ? after.standing.files : new Map<string, OnDisk>();
      for (const [path, file] of before.standing.is === 'there' ? before.standing.files : []) {
        const kept = now.get(path)?.digest === file.digest;
        expect(kept || ours(path, file.digest), `seed ${seed}: ${path} was lost`).toBe(true);
      }
      const again = decide(after);
      const still = again === null || again.do === 'nothing' || again.do === 'hold' || again.do === 'adopt';
      expect(still, `seed ${seed}: ${decision.do} then ${again?.do}`).toBe(true);
    }
    expect([...kinds].sort()).toEqual(['adopt', 'forget', 'hold', 'nothing', 'place', 'remove', 'update']);
  });
});
