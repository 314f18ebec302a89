import {
  CST,
  type Document,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type ParsedNode,
  parseDocument,
  visit,
} from 'yaml';
import { RegistryError } from './errors.ts';

/** A top-level key of a YAML mapping. Offsets count UTF-16 units from the start of the source. */
interface YamlEntry {
  readonly key: string;
  readonly keyStart: number;
  readonly keyEnd: number;
  /** End of the value without the line break that follows it. */
  readonly valueEnd: number;
  /** The value when it is a string, and numbers and booleans as they are written; undefined for all else. */
  readonly text: string | undefined;
  /** The same of each item when the value is a list. */
  readonly items: readonly (string | undefined)[] | undefined;
}

export interface YamlMapping {
  readonly data: Record<string, unknown>;
  readonly entries: readonly YamlEntry[];
}

const MAX_OPEN_BRACKETS = 64;
const MAX_INDENT_LEVELS = 20;
/** `a: b: c` is no YAML, yet the parser goes one call deeper for each. */
const MAX_CHAINED_KEYS = 20;

/**
 * Reads a mapping as YAML 1.2 core, strictly; an empty source is an empty mapping. Null when it is no valid mapping.
 * The caller bounds the size and writes lone CRs as LF. `firstLine` is the source's line in its file and `what` the
 * source itself, for errors.
 * @throws RegistryError `invalid_front_matter` for what only an attack or an accident holds: aliases, explicit tags,
 * deep nesting, duplicate keys, `__proto__`
 */
export function parseMapping(
  source: string,
  firstLine: number,
  what = 'the front matter',
): YamlMapping | null {
  const refuse = (offset: number, why: string): never => {
    const line = firstLine + lineBreaks(source.slice(0, offset));
    throw new RegistryError('invalid_front_matter', `Line ${line} of ${what} ${why}.`, { line });
  };
  if (!inspectTokens(source, refuse)) return null;
  const document = parseDocument(source, {
    version: '1.2',
    schema: 'core',
    strict: true,
    // The library compares each key with all before it; refuseKeys finds what repeats.
    uniqueKeys: false,
    stringKeys: true,
    merge: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  refuseKeys(document, refuse);
  if (document.errors.length > 0 || document.warnings.length > 0) return null;
  if (document.contents === null) return { data: {}, entries: [] };
  if (!isMap(document.contents)) return null;
  const entries = document.contents.items.map(({ key, value }): YamlEntry => {
    const [keyStart, keyEnd] = key.range;
    const end = value?.range[1] ?? keyEnd;
    return {
      key: String(isScalar(key) ? key.value : key),
      keyStart,
      keyEnd,
      valueEnd: keyEnd + source.slice(keyEnd, end).trimEnd().length,
      text: scalarText(value),
      items: isSeq(value) ? value.items.map((item) => scalarText(item as ParsedNode)) : undefined,
    };
  });
  return { data: document.toJS({ maxAliasCount: 0 }), entries };
}

/** Line breaks in a text: LF, CRLF or CR. */
export function lineBreaks(text: string): number {
  return text.match(/\r\n|\n|\r/g)?.length ?? 0;
}

type Refuse = (offset: number, what: string) => never;

/**
 * Looks at the tokens, which costs linear time, for what would make the parser itself the target. False when the
 * parser is not to be asked: 500 nested `?` keys keep it busy for minutes, and an alias without an anchor is prose.
 */
function inspectTokens(source: string, refuse: Refuse): boolean {
  let offset = 0;
  let column = 0;
  let open = 0;
  let chained = 0;
  let lineStart = true;
  let parseable = true;
  let anchored = false;
  let alias: number | null = null;
  const indents: number[] = [];
  let isText = false;
  let isBlock = false;
  for (const token of new Lexer().lex(source)) {
    const type: CST.Token['type'] | 'text' | 'flow-error-end' | 'doc-mode' | null = isText
      ? 'text'
      : CST.tokenType(token);
    isText = type === 'scalar';
    if (type === 'scalar' || type === 'doc-mode' || type === 'flow-error-end') continue;
    switch (type) {
      case 'flow-seq-start':
      case 'flow-map-start':
        open++;
        chained = 0;
        if (open > MAX_OPEN_BRACKETS)
          refuse(offset, `opens more than ${MAX_OPEN_BRACKETS} brackets; nest less`);
        break;
      case 'flow-seq-end':
      case 'flow-map-end':
        open = Math.max(0, open - 1);
        chained = 0;
        break;
      case 'comma':
        chained = 0;
        break;
      case 'map-value-ind':
        chained++;
        if (chained > MAX_CHAINED_KEYS) parseable = false;
        break;
      case 'block-scalar-header':
        isBlock = true;
        break;
      case 'explicit-key-ind':
        parseable = false;
        break;
      case 'tag':
        refuse(
          offset,
          `has the YAML tag ${JSON.stringify(token.slice(0, 40))}; remove it, or quote the value`,
        );
        break;
      case 'anchor':
        anchored = true;
        break;
      case 'alias':
        alias ??= offset;
        break;
    }
    if (type === 'newline' || (type === 'text' && isBlock)) {
      lineStart = true;
      if (open === 0) chained = 0;
      isBlock &&= type === 'newline';
    } else if (type !== 'space' && type !== 'comment' && open === 0) {
      if (lineStart) while (indents.length > 0 && (indents.at(-1) as number) >= column) indents.pop();
      if (lineStart || type === 'seq-item-ind') indents.push(column);
      if (indents.length > MAX_INDENT_LEVELS) {
        refuse(offset, `is nested more than ${MAX_INDENT_LEVELS} levels deep; nest less`);
      }
      lineStart = false;
    }
    offset += token.length;
    const lineBreak = token.lastIndexOf('\n');
    column = lineBreak < 0 ? column + token.length : token.length - lineBreak - 1;
  }
  if (alias === null) return parseable;
  if (anchored) refuse(alias, 'repeats an anchored value with a YAML alias; write the value out');
  return false;
}

function refuseKeys(document: Document.Parsed, refuse: Refuse): void {
  // Behind an error the parser only guesses what is a key.
  const known = document.errors[0]?.pos[0] ?? Number.POSITIVE_INFINITY;
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const at = key.range?.[0] ?? 0;
        if (key.value === '__proto__')
          refuse(at, 'has the key `__proto__`, which is not accepted; remove it');
        if (seen.has(key.value) && at <= known) refuse(at, 'repeats a key; keep one of them');
        seen.add(key.value);
      }
    },
  });
}

function scalarText(node: ParsedNode | null): string | undefined {
  if (!isScalar(node)) return undefined;
  const { value } = node;
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? node.source : undefined;
}
