import { randomBytes } from 'node:crypto';
import type { DeviceEvent } from '../schema/api.ts';
import type { Outcome } from './apply.ts';
import type { Action } from './plan.ts';
import { type Fact, factKey, type Records } from './state.ts';
import type { Survey } from './survey.ts';

/** An action that was carried out. */
export interface Done {
  action: Action;
  outcome: Outcome;
  /** Item digest of what is on disk now, read back where the agent wrote. */
  digest: string | null;
}

export interface FactsInput {
  records: Records;
  done: readonly Done[];
  held: Survey['held'];
  /** Whether a fact that was not found again is no longer true. */
  isStale(fact: Fact): boolean;
  now: number;
}

/** Keeps what was found on disk, and gives an event for each change to it. */
export function recordFacts({ records, done, held, isStale, now }: FactsInput): DeviceEvent[] {
  const facts = new Map<string, Fact>();
  // Equal bytes in two folders are one event of the device.
  const events = new Map<string, DeviceEvent>();

  // The place where an item is wanted counts before one that it leaves.
  const wantedFirst = done.toSorted((a, b) => Number(!a.action.spot.want) - Number(!b.action.spot.want));
  for (const { action, outcome, digest } of wantedFirst) {
    const { want, placed } = action.spot;
    const source = want ?? placed;
    if (!source) continue;
    const { item, kind, name } = source;
    const revision = outcome.placement?.revision ?? null;
    const replaced = placed && placed.revision !== revision ? placed.revision : null;
    const base = { folder: action.folder, item, kind, name, revision, ...said(outcome.message) };
    if (outcome.state === null) {
      if (outcome.touched) event(base, 'removed', replaced);
      continue;
    }
    const fact: Fact = { ...base, state: outcome.state, digest };
    if (outcome.state === 'written' || outcome.state === 'adopted') {
      if (outcome.touched) event(base, 'wrote', replaced);
      else if (action.decision.do === 'adopt') event(base, 'adopted', replaced);
    } else if (outcome.touched || isNews(fact)) event(base, outcome.state, replaced);
    keep(fact);
  }
  for (const { folder, wish } of held) {
    const { item, kind, name, held: state, reason: message } = wish;
    const revision = revisionThere(folder, item);
    const fact: Fact = { folder, item, kind, name, state, revision, digest: null, message };
    if (isNews(fact)) event(fact, state, null);
    keep(fact);
  }

  const stale = [...records.facts.entries()].filter(([key, fact]) => !facts.has(key) && isStale(fact));
  const changed = [...facts].filter(([key, fact]) => !isSame(fact, records.facts.get(key)));
  records.facts.write([...stale.map(([key]) => [key, null] as const), ...changed]);
  const made = [...events.values()];
  records.events.write(made.map((one) => [one.id, one]));
  return made;

  function keep(fact: Fact): void {
    const key = factKey(fact.folder, fact.item);
    const other = facts.get(key);
    facts.set(key, other ? { ...other, ...said(other.message ?? fact.message) } : fact);
  }

  function event(
    { item, kind, name, revision, message }: Omit<Fact, 'state' | 'digest'>,
    action: DeviceEvent['action'],
    replaced: number | null,
  ): void {
    const one = { item, kind, name, action, revision, replaced, at: now, ...said(message) };
    const key = JSON.stringify(one);
    if (!events.has(key)) events.set(key, { id: eventId(now, events.size), ...one });
  }

  function isNews(fact: Fact): boolean {
    const before = records.facts.get(factKey(fact.folder, fact.item));
    return (
      before?.state !== fact.state || before.message !== fact.message || before.revision !== fact.revision
    );
  }

  function revisionThere(folder: string, item: string): number | null {
    for (const [, placed] of records.ledger.entries()) {
      if (placed.folder === folder && placed.item === item) return placed.revision;
    }
    return null;
  }
}

/** Ids sort as the events happened: the registry orders those of one report by them. */
function eventId(now: number, place: number): string {
  const [time, nth] = [now.toString(36).padStart(9, '0'), place.toString(36).padStart(5, '0')];
  return `${time}-${nth}-${randomBytes(6).toString('hex')}`;
}

function said(message: string | undefined): { message?: string } {
  return message === undefined ? {} : { message };
}

function isSame(fact: Fact, before: Fact | undefined): boolean {
  return (
    before !== undefined &&
    before.name === fact.name &&
    before.state === fact.state &&
    before.revision === fact.revision &&
    before.digest === fact.digest &&
    before.message === fact.message
  );
}
