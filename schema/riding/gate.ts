/** One predicate of `applies_when`. `unreadable` stands for anything not understood, and is never satisfied. */
export type Clause =
  | { readonly predicate: 'graph_has_node_type'; readonly labels: readonly string[] }
  | { readonly predicate: 'graph_has_property'; readonly nodeType: string; readonly property: string }
  | { readonly predicate: 'tool_registered'; readonly tool: string }
  | { readonly predicate: 'extension_enabled'; readonly extension: string }
  | { readonly predicate: 'unreadable'; readonly key: string };

/** Clauses combined with AND; none at all is satisfied. */
export type Gate = readonly Clause[];

const SHAPES = {
  graph_has_node_type: 'a list of labels, such as [Paper, Author]',
  graph_has_property: 'a mapping of node_type and prop_name, both text',
  tool_registered: "a tool's name",
  extension_enabled: "an extension's name",
} as const;
type Predicate = keyof typeof SHAPES;
const ACCEPTED = Object.keys(SHAPES)
  .map((key) => `\`${key}\``)
  .join(', ');

/**
 * Reads the value of `applies_when`; null means always active. What is not understood closes the gate rather than
 * opening it, and `problems` says in one sentence each what and why.
 */
export function readGate(value: unknown): { gate: Gate | null; problems: string[] } {
  if (value === null || value === undefined) return { gate: null, problems: [] };
  if (!isMapping(value)) {
    return {
      gate: [{ predicate: 'unreadable', key: 'applies_when' }],
      problems: [`\`applies_when\` must be a mapping; its keys are ${ACCEPTED}`],
    };
  }
  const problems: string[] = [];
  const gate = Object.entries(value).map(([key, predicate]): Clause => {
    const known = Object.hasOwn(SHAPES, key);
    const clause = known ? readClause(key as Predicate, predicate) : null;
    if (clause) return clause;
    problems.push(
      known
        ? `\`${key}\` in \`applies_when\` must be ${SHAPES[key as Predicate]}; the accepted keys are ${ACCEPTED}`
        : `\`applies_when\` does not know \`${key}\`; the accepted keys are ${ACCEPTED}`,
    );
    return { predicate: 'unreadable', key };
  });
  return { gate, problems };
}

function readClause(predicate: Predicate, value: unknown): Clause | null {
  switch (predicate) {
    case 'graph_has_node_type':
      return isTexts(value) ? { predicate, labels: value } : null;
    case 'graph_has_property': {
      if (!isMapping(value)) return null;
      const { node_type: nodeType, prop_name: property, ...others } = value;
      if (Object.keys(others).length > 0) return null;
      return typeof nodeType === 'string' && typeof property === 'string'
        ? { predicate, nodeType, property }
        : null;
    }
    case 'tool_registered':
      return typeof value === 'string' ? { predicate, tool: value } : null;
    case 'extension_enabled':
      return typeof value === 'string' ? { predicate, extension: value } : null;
  }
}

/** A clause as it stands in a skill file, such as `tool_registered: grep`. */
export function describeClause(clause: Clause): string {
  switch (clause.predicate) {
    case 'graph_has_node_type':
      return `graph_has_node_type: [${clause.labels.join(', ')}]`;
    case 'graph_has_property':
      return `graph_has_property: {node_type: ${clause.nodeType}, prop_name: ${clause.property}}`;
    case 'tool_registered':
      return `tool_registered: ${clause.tool}`;
    case 'extension_enabled':
      return `extension_enabled: ${clause.extension}`;
    case 'unreadable':
      return `${clause.key} (unreadable)`;
  }
}

/** Whether any skill's gate needs the graph: only then is it worth asking. */
export function asksGraph(skills: readonly { readonly gate: Gate | null }[]): boolean {
  return skills.some((skill) => skill.gate?.some(isGraphClause));
}

export function isGraphClause(clause: Clause): boolean {
  return clause.predicate === 'graph_has_node_type' || clause.predicate === 'graph_has_property';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
