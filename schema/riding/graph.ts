import { compile, search } from '@jmespath-community/jmespath';
import { isMapping, knownKeys, type Refuse } from './values.ts';

/** Properties by node type. */
export type GraphSchema = ReadonlyMap<string, ReadonlySet<string>>;

/** The parts of a tool's answer that are read here; all others pass through. */
export interface ToolAnswer {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
  readonly content?: readonly { readonly type: string; readonly text?: unknown }[] | undefined;
}

/** Which tool of the upstream tells the graph's schema, and how to read its answer. */
export interface GraphMapping {
  /** Names by the upstream; the first one that it has is asked. */
  readonly tools: readonly string[];
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What is read: `structuredContent`, the first text as JSON where it is JSON, or that text; `auto` takes the first there is. */
  readonly format: (typeof FORMATS)[number];
  /** JMESPath over that: a list of labels. */
  readonly nodeTypes: string;
  /** JMESPath over that: a list of `[label, property]` or `[label, [property, …]]`, or a mapping of lists; null for none. */
  readonly properties: string | null;
}

const FORMATS = ['auto', 'structured', 'json', 'text'] as const;
const EXPRESSION_CHARS = 2000;

/** Both known shapes of a Neo4j schema as one list of `{key, value}`. A database without data answers with a sentence. */
const NEO4J_NODES =
  "(type(@) == 'array' ? @ : type(@) == 'object' ? items(@)[*].{key: @[0], value: @[1]} : `[]`)[?value.type == 'node']";

export const PRESETS = {
  /**
   * `@modelcontextprotocol/server-memory`: an entity's type is the label. Observations are free text; one of the form
   * `name: value` gives the type the property `name`.
   */
  memory: {
    tools: ['read_graph'],
    arguments: {},
    format: 'auto',
    nodeTypes: 'entities[].entityType',
    properties: "entities[].[entityType, map(&trim(split(@, ':')[0]), observations[?contains(@, ':')])]",
  },
  /**
   * Neo4j's own MCP server answers with a list of `{key, value: {type, properties}}`, that of Neo4j Labs with a mapping
   * of `{type, properties}` by key; both as JSON text.
   */
  neo4j: {
    tools: ['get-schema', 'get_neo4j_schema'],
    arguments: {},
    format: 'json',
    nodeTypes: `${NEO4J_NODES}.key`,
    properties: `${NEO4J_NODES}.[key, keys(value.properties || \`{}\`)]`,
  },
  /**
   * kglite's bare `graph_overview` answers with XML as text. Up to 15 types come as `<type name="…">` elements with
   * `<prop name="…">`; more come as one line, `Name[size,complexity], …`, the 50 most frequent at most and without
   * properties. Every node has `id` and `title`, which the answer leaves out.
   */
  kglite: {
    tools: ['graph_overview'],
    arguments: {},
    format: 'text',
    nodeTypes: `[
      map(&split(@, '"')[0], split(@, '<type name="')[1:]),
      map(&map(&trim(split(split(@, '[')[0], ', ')[-1]), split(split(split(@, '<')[0], '>')[-1], ']')[:-1]), split(@, '<types co')[1:])[]
    ][]`,
    properties: `map(&[split(@, '"')[0], [
      \`["id", "title"]\`,
      map(&split(@, '"')[0], split(split(@, '</properties>')[0], '<prop name="')[1:])
    ][]], split(@, '<type name="')[1:])`,
  },
} as const satisfies Record<string, GraphMapping>;

/** Reads the value of a manifest's `graph` key: a preset's name or a mapping; null when absent. */
export function readGraphMapping(value: unknown, refuse: Refuse): GraphMapping | null {
  if (value === null || value === undefined) return null;
  const presets = Object.keys(PRESETS).join(', ');
  if (typeof value === 'string') {
    if (!Object.hasOwn(PRESETS, value))
      refuse(`\`graph\` knows no preset \`${value}\`; the presets are ${presets}`);
    return PRESETS[value as keyof typeof PRESETS];
  }
  if (!isMapping(value))
    refuse(`\`graph\` must be a preset (${presets}) or a mapping with \`tool\` and \`node_types\``);
  knownKeys(value, ['tool', 'arguments', 'format', 'node_types', 'properties'], 'graph', refuse);
  const { tool, format = 'auto' } = value;
  if (typeof tool !== 'string' || tool.trim() === '') refuse('`graph.tool` must name a tool of the upstream');
  const args = value.arguments ?? {};
  if (!isMapping(args)) refuse('`graph.arguments` must be a mapping');
  const known = FORMATS.find((name) => name === format);
  if (known === undefined) refuse(`\`graph.format\` must be one of ${FORMATS.join(', ')}`);
  const nodeTypes = readExpression(value.node_types, 'graph.node_types', refuse);
  if (nodeTypes === null)
    refuse('`graph.node_types` must be a JMESPath expression that gives a list of labels');
  const properties = readExpression(value.properties, 'graph.properties', refuse);
  return { tools: [tool], arguments: args, format: known, nodeTypes, properties };
}

/** The tool to ask, of those that the upstream has; null when it has none of them. */
export function graphTool(mapping: GraphMapping, upstreamTools: ReadonlySet<string>): string | null {
  return mapping.tools.find((tool) => upstreamTools.has(tool)) ?? null;
}

/**
 * Whether a call of this tool (by the upstream's name) may change the graph, so that the next list has to ask again: all
 * but the asking tool itself and those that their server declares to be read-only.
 */
export function mayChangeGraph(
  mapping: GraphMapping,
  tool: {
    readonly name: string;
    readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
  },
): boolean {
  return tool.annotations?.readOnlyHint !== true && !mapping.tools.includes(tool.name);
}

function readExpression(value: unknown, key: string, refuse: Refuse): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string' || value.length > EXPRESSION_CHARS) {
    refuse(`\`${key}\` must be a JMESPath expression of at most ${EXPRESSION_CHARS} characters`);
  }
  try {
    compile(value);
  } catch (error) {
    refuse(
      `\`${key}\` is no JMESPath expression (${error instanceof Error ? error.message : 'it cannot be read'})`,
    );
  }
  return value;
}

/** Characters of an answer that are looked at: far more than a schema needs. */
const ANSWER_CHARS = 8 * 1024 * 1024;

/**
 * The schema that the answer of a mapping's tool tells. A type that the schema lists counts as present even when no node
 * has it. `none` when the answer says that no graph is active, `failed` when it is an error or cannot be read.
 */
export function readGraph(mapping: GraphMapping, answer: ToolAnswer): GraphSchema | 'none' | 'failed' {
  const text = firstText(answer);
  if (text !== null && /^\s*no active graph\b/i.test(text)) return 'none';
  if (answer.isError) return 'failed';
  try {
    const subject = readSubject(mapping, answer, text);
    if (subject === undefined) return 'failed';
    const types = search(subject as Json, mapping.nodeTypes);
    if (!Array.isArray(types)) return 'failed';
    const schema = new Map<string, Set<string>>();
    for (const type of types) if (typeof type === 'string') schema.set(type, new Set());
    if (mapping.properties !== null) addProperties(schema, search(subject as Json, mapping.properties));
    return schema;
  } catch {
    return 'failed';
  }
}

type Json = Parameters<typeof search>[0];

function readSubject({ format }: GraphMapping, answer: ToolAnswer, text: string | null): unknown {
  if (format === 'structured') return answer.structuredContent;
  if (format === 'auto' && answer.structuredContent !== undefined) return answer.structuredContent;
  if (text === null || text.length > ANSWER_CHARS) return undefined;
  if (format === 'text') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function firstText({ content }: ToolAnswer): string | null {
  const first = (Array.isArray(content) ? content : []).find(
    (part) => part?.type === 'text' && typeof part.text === 'string',
  );
  return typeof first?.text === 'string' ? first.text : null;
}

/** Adds what `properties` gave: pairs of a label and one or more properties, or lists of properties by label. */
function addProperties(schema: Map<string, Set<string>>, found: unknown): void {
  const pairs: unknown[] = Array.isArray(found) ? found : Object.entries(found ?? {});
  for (const pair of pairs) {
    if (!Array.isArray(pair)) continue;
    const [label, properties] = pair as unknown[];
    if (typeof label !== 'string') continue;
    const known = schema.get(label) ?? new Set();
    for (const property of Array.isArray(properties) ? properties : [properties]) {
      if (typeof property === 'string') known.add(property);
    }
    if (schema.has(label)) schema.set(label, known);
  }
}
