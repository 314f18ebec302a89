import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import type { Confirmation } from '../../schema/api.ts';
import { sha256 } from '../../schema/digest.ts';
import { type Finding, RegistryError } from '../../schema/errors.ts';
import { OWN_RULES, SECRETLINT_RULES } from './credential-rules.ts';

/** A piece of content to look at. Name and description come as texts of their own, under a path that says so. */
export interface ScannedText {
  readonly path: string;
  readonly text: string;
}

/** A match, with its value: never leaves this file. */
interface Hit {
  readonly rule: string;
  readonly level: Finding['level'];
  readonly line: number;
  readonly value: string;
}

type Report = (rule: string, level: Finding['level'], value: string, index: number) => void;

const FINDINGS_SHOWN = 100;
const PLACES_NAMED = 3;

// The profiler records every rule of every text for ever, in Node and in workerd.
secretLintProfiler.setEnabled(false);

/**
 * The preset's rules, one by one. The preset itself brings `filter-comments`, which lets a comment inside the text
 * switch the scan off. Left out are also `gcp`, which opens the named path on this machine's disk, and `privatekey`,
 * which knows fewer keys than our own rule.
 */
const PRESET = rules.flatMap((rule) => {
  const id = rule.meta.id.replace('@secretlint/secretlint-rule-', '');
  const used = SECRETLINT_RULES[id];
  return used === undefined ? [] : [{ id, ...used, rule }];
});
const PRESET_WORDS = new RegExp(
  [...new Set(PRESET.flatMap(({ words }) => words))].map((word) => word.replace('.', '\\.')).join('|'),
  'g',
);

/**
 * Every credential in the texts, by rule, path and line (1-based, in the text as given). Looks at each text as it is
 * and in Unicode form NFKC without invisible characters; comments in the text switch nothing off. `match` is the
 * SHA-256 of the matched value; the value itself is in no result. A path that holds one is not repeated either.
 */
export async function findCredentials(texts: readonly ScannedText[]): Promise<Finding[]> {
  const names = await scan(texts.map(({ path }) => path.replace(/[\r\n]/g, ' ')).join('\n'));
  const findings: Finding[] = [];
  for (const [index, { path, text }] of texts.entries()) {
    const inName = names.filter(({ line }) => line === index + 1).map((hit) => ({ ...hit, line: 1 }));
    const shown = inName.length > 0 ? `name of file ${index + 1}` : path;
    for (const { rule, level, line, value } of distinct([...inName, ...(await scan(text))])) {
      findings.push({ rule, level, path: shown, line, match: await sha256(value) });
    }
  }
  return findings;
}

/**
 * {@link findCredentials} and {@link refuseCredentials} in one. What is `confirmed` counts only when the caller
 * `mayConfirm`.
 */
export async function assertNoCredentials(
  texts: readonly ScannedText[],
  confirmed: readonly Confirmation[],
  mayConfirm: boolean,
): Promise<void> {
  refuseCredentials(await findCredentials(texts), mayConfirm ? confirmed : [], mayConfirm);
}

/**
 * Passes when there are no findings, or only ones of level `ask` that are all in `confirmed`, whose right to count the
 * caller has checked. Else throws `credential` or `confirmation_required` with the open findings, 100 at most.
 * `mayConfirm` says whether this caller could confirm: the sentence then says how.
 */
export function refuseCredentials(
  findings: readonly Finding[],
  confirmed: readonly Confirmation[],
  mayConfirm: boolean,
): void {
  const isConfirmed = ({ rule, match }: Finding): boolean =>
    confirmed.some((confirmation) => confirmation.rule === rule && confirmation.match === match);
  const asked = findings.filter((finding) => finding.level === 'ask' && !isConfirmed(finding));
  const refused = findings.filter(({ level }) => level === 'refuse');
  const details = { findings: [...refused, ...asked].slice(0, FINDINGS_SHOWN) };
  if (refused.length > 0) {
    throw new RegistryError(
      'credential',
      `Nothing was stored, because a credential stands in ${places(refused)}: take it out and name, for example, an environment variable in its place.`,
      details,
    );
  }
  if (asked.length > 0) {
    const confirming = mayConfirm
      ? 'repeat the write and confirm rule and match of each finding'
      : 'its owner can write it over the API with a token that has the items:confirm scope';
    throw new RegistryError(
      'confirmation_required',
      `Nothing was stored, because what may be a credential stands in ${places(asked)}: take it out, or, if it is none, ${confirming}.`,
      details,
    );
  }
}

function places(findings: readonly Finding[]): string {
  const named = findings
    .slice(0, PLACES_NAMED)
    .map(({ path, line, rule }) => `${path} line ${line} (rule ${rule})`);
  const rest = findings.length - named.length;
  return rest > 0 ? `${named.join(', ')} and ${rest} more` : named.join(', ');
}

async function scan(text: string): Promise<Hit[]> {
  const hits = await scanAs(text);
  const plain = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  // Neither step adds or removes a line end: the lines stay those of the text.
  return plain === text ? hits : [...hits, ...(await scanAs(plain))];
}

async function scanAs(text: string): Promise<Hit[]> {
  const found: (Omit<Hit, 'line'> & { index: number })[] = [];
  const report: Report = (rule, level, value, index) => {
    if (!isPlaceholder(value)) found.push({ rule, level, value, index });
  };
  for (const { id, level, pattern } of OWN_RULES) {
    for (const match of text.matchAll(pattern)) report(id, level, match[1] ?? match[0], match.index);
  }
  await scanWithPreset(text, report);
  if (found.length === 0) return [];
  const lineAt = lines(text);
  return found.map(({ index, ...hit }) => ({ ...hit, line: lineAt(index) }));
}

async function scanWithPreset(text: string, report: Report): Promise<void> {
  const present = presetWordsIn(text);
  const used = PRESET.filter(({ words }) => words.some((word) => present.has(word)));
  if (used.length === 0) return;
  const collecting = used.map(({ id, level, rule }) => {
    // Matches are taken from the rule itself: secretlint's own list compares each match with all others.
    const create: typeof rule.create = (context, options) =>
      rule.create(
        {
          ...context,
          report: ({ message, range }) =>
            report(id, level, String(Object.values(message.data ?? {})[0] ?? text.slice(...range)), range[0]),
        },
        options,
      );
    return { id: rule.meta.id, rule: { ...rule, create } };
  });
  await lintSource({
    source: { content: text, contentType: 'text', filePath: 'text', ext: '' },
    options: { config: { rules: collecting }, noPhysicFilePath: true },
  });
}

function presetWordsIn(text: string): Set<string> {
  const present = new Set<string>();
  PRESET_WORDS.lastIndex = 0;
  for (let match = PRESET_WORDS.exec(text); match !== null; match = PRESET_WORDS.exec(text)) {
    present.add(match[0]);
    // Words may overlap.
    PRESET_WORDS.lastIndex = match.index + 1;
  }
  return present;
}

/** The 1-based line of an index; line ends are CRLF, LF and CR. */
function lines(text: string): (index: number) => number {
  const starts = Array.from(text.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length);
  return (index) => {
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] as number) <= index) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
}

/** One hit of each value on each line, in the order of lines: the surer level wins, then the first rule. */
function distinct(hits: readonly Hit[]): Hit[] {
  const kept = new Map<string, Hit>();
  for (const hit of hits) {
    const key = `${hit.line}:${hit.value}`;
    const other = kept.get(key);
    if (other === undefined || (other.level === 'ask' && hit.level === 'refuse')) kept.set(key, hit);
  }
  return [...kept.values()].sort((a, b) => a.line - b.line);
}

/** The last two are the name and the number in the sample token of jwt.io, as base64 shows them. */
const PLACEHOLDER =
  /x{4}|\*{3}|\.{3}|…|your[-_]|example|placeholder|redacted|<[^>]*>|[{}$]|123456|abcdef|@localhost|@127\.|:(?:pass|passwd|password|secret|test|token)@|kpvaG4gRG9l|xMjM0NTY3ODkw/i;

/** Whether a matched value is text that stands for a secret, by its words or by less than 3.0 bits per character. */
function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value) || entropy(value) < 3;
}

/** Shannon entropy, bits per character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  const length = [...text].length;
  let bits = 0;
  for (const count of counts.values()) bits -= (count / length) * Math.log2(count / length);
  return bits;
}
