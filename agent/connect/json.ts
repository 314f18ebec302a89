import {
  createScanner,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { type Format, lineEnd } from './format.ts';

/** JSON, with comments and trailing commas where the file has them. */
export const jsonFormat: Format = {
  parse: (text) => (text.trim() === '' ? {} : getNodeValue(rootOf(text))),

  put(text, [container, name], entry) {
    if (text.trim() === '') {
      const eol = lineEnd(text);
      return JSON.stringify({ [container]: { [name]: entry } }, null, 2).replaceAll('\n', eol) + eol;
    }
    const root = rootOf(text);
    const servers = propertyValue(root, container);
    return servers ? insert(text, servers, name, entry) : insert(text, root, container, { [name]: entry });
  },

  drop(text, [container, name], { emptied }) {
    const servers = propertyValue(rootOf(text), container);
    const rest = servers ? cut(text, servers, name) : text;
    const root = rootOf(rest);
    const empty = propertyValue(root, container)?.children?.length === 0;
    return emptied && empty ? cut(rest, root, container) : rest;
  },
};

function rootOf(text: string): Node {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error) throw new Error(`line ${lineOf(text, error.offset)}: ${printParseErrorCode(error.error)}`);
  if (root?.type !== 'object') throw new Error('it is no JSON object');
  refuseTwins(text, root);
  return root;
}

/** Of two equal keys an edit changes the first and clients read the last. */
function refuseTwins(text: string, object: Node): void {
  const seen = new Set<unknown>();
  for (const property of object.children ?? []) {
    const [key, value] = property.children ?? [];
    if (seen.has(key?.value)) {
      throw new Error(
        `line ${lineOf(text, property.offset)}: the key ${JSON.stringify(key?.value)} is there twice`,
      );
    }
    seen.add(key?.value);
    if (value?.type === 'object') refuseTwins(text, value);
  }
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function indexOf(object: Node, key: string): number {
  return (object.children ?? []).findIndex((property) => property.children?.[0]?.value === key);
}

function propertyValue(object: Node, key: string): Node | undefined {
  return object.children?.[indexOf(object, key)]?.children?.[1];
}

/** Adds a property behind the last one, in the manner of the text around it. */
function insert(text: string, object: Node, key: string, value: unknown): string {
  const last = object.children?.at(-1);
  const close = object.offset + object.length - 1;
  const inside = text.slice(object.offset, close);
  const flat = !(last ? inside : text.trim()).includes('\n') && (last !== undefined || text.trim() !== '{}');
  const from = last ? endOf(last) : object.offset + 1;
  const comma = last && findComma(text, from, close);
  const at = comma === undefined ? from : comma + 1;
  const separator = last && comma === undefined ? ',' : '';
  if (flat) {
    const gap = last && /[:,]\s/.test(inside) ? ' ' : '';
    const property = `${JSON.stringify(key)}:${gap}${JSON.stringify(value)}`;
    return text.slice(0, at) + separator + (last ? gap : '') + property + text.slice(at);
  }
  const eol = lineEnd(text);
  const unit = /\n([\t ]+)\S/.exec(text)?.[1] ?? '  ';
  const outer = indentAt(text, object.offset);
  const indent = (last && ownIndent(text, last.offset)) ?? outer + unit;
  const lines = JSON.stringify(value, null, unit).replaceAll('\n', eol + indent);
  const property = `${eol}${indent}${JSON.stringify(key)}: ${lines}${comma === undefined ? '' : ','}`;
  // A comment at the end of the last property's line stays with it.
  const [remark = ''] = /^[\t ]*(\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[\t ]*)(?=\r?\n)/.exec(text.slice(at)) ?? [];
  const rest = text.slice(at + remark.length);
  const ending = rest.startsWith('}') ? eol + outer : '';
  return text.slice(0, at) + separator + remark + property + ending + rest;
}

/** Takes a property out with one comma and the blanks before it; comments around it stay. */
function cut(text: string, object: Node, key: string): string {
  const index = indexOf(object, key);
  const property = object.children?.[index];
  if (!property) return text;
  const before = object.children?.[index - 1];
  const close = object.offset + object.length - 1;
  const next = findComma(text, endOf(property), close);
  const end = next === undefined ? endOf(property) : next + 1;
  const previous = next === undefined && before ? findComma(text, endOf(before), property.offset) : undefined;
  const head = text.slice(0, property.offset).trimEnd();
  const kept = previous === undefined ? head : head.slice(0, previous) + head.slice(previous + 1);
  const tail = text.slice(end);
  return kept + (kept.endsWith('{') ? tail.replace(/^\s*\}/, '}') : tail);
}

function findComma(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text.slice(from, to), true);
  scanner.scan();
  const at = from + scanner.getTokenOffset();
  return at < to && text[at] === ',' ? at : undefined;
}

function endOf(node: Node): number {
  return node.offset + node.length;
}

/** The blanks that the line of a position begins with. */
function indentAt(text: string, position: number): string {
  const line = text.slice(text.lastIndexOf('\n', position - 1) + 1, position);
  return /^[\t ]*/.exec(line)?.[0] ?? '';
}

/** The blanks before a position that begins its line; undefined for one that does not. */
function ownIndent(text: string, position: number): string | undefined {
  const line = text.slice(text.lastIndexOf('\n', position - 1) + 1, position);
  return line.trim() === '' ? line : undefined;
}
