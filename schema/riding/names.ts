export interface ServerTool {
  readonly server: string;
  readonly tool: string;
}

/** Names for tools of several servers in one list, in the order given: each its own, and a function of the set alone. */
export declare function exposeNames(tools: readonly ServerTool[]): Promise<string[]>;
