/** Properties by node type. */
export type GraphSchema = ReadonlyMap<string, ReadonlySet<string>>;

/** Which tool of the upstream tells the graph's schema, and how to read its answer. */
export interface GraphMapping {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** JMESPath over the answer: a list of labels. */
  readonly nodeTypes: string;
  /** JMESPath over the answer: a list of `[label, property]` or `[label, [property, …]]`, or a mapping of lists; null for none. */
  readonly properties: string | null;
}

/** The parts of a tool's answer that are read. */
export interface ToolAnswer {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
  readonly content?: readonly { readonly type: string; readonly text?: unknown }[] | undefined;
}

export declare const PRESETS: Readonly<Record<'memory' | 'neo4j' | 'kglite', GraphMapping>>;

/** The value of a manifest's `graph` key. @throws StartError */
export declare function readMapping(value: unknown, manifest: string): GraphMapping;

/** The schema that the answer tells; `none` when it says that no graph is active, `failed` when it cannot be read. */
export declare function readGraph(mapping: GraphMapping, answer: ToolAnswer): GraphSchema | 'none' | 'failed';

/** Whether calling this tool may change the graph, so that the next list has to ask again. */
export declare function mayChangeGraph(
  mapping: GraphMapping,
  tool: {
    readonly name: string;
    readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
  },
): boolean;
