import type { Tool } from '@modelcontextprotocol/server';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import type { Manifest } from '../../schema/riding/manifest.ts';
import { exposeNames } from '../../schema/riding/names.ts';
import { applyOverrides } from '../../schema/riding/overrides.ts';

/** Name of the tool that loads methods; the texts that ride say it. */
export const LOADER = 'skills';

export interface ShownTools {
  /** Without the loader. */
  readonly tools: readonly Tool[];
  /** The server's name for each name shown. */
  readonly upstreamNames: ReadonlyMap<string, string>;
  /** The server's names of all its tools, hidden ones too. */
  readonly served: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * A server's tools as its manifest lets them be seen, and as far as they only read where the caller may not write. One
 * that is called like the loader is shown under another name.
 */
export function shownTools(
  listed: readonly Tool[],
  manifest: Manifest,
  { server, readOnly }: { server: string; readOnly: boolean },
): ShownTools {
  const served = new Set(listed.map(({ name }) => name));
  const allowed = readOnly ? listed.filter(onlyReads) : listed;
  const { tools, upstreamNames, diagnostics } = applyOverrides(allowed, manifest);
  if (!upstreamNames.has(LOADER)) return { tools, upstreamNames, served, diagnostics };
  let other = `${server}_${LOADER}`;
  while (upstreamNames.has(other)) other += '_';
  const names = new Map([...upstreamNames].map(([shown, own]) => [shown === LOADER ? other : shown, own]));
  return {
    tools: tools.map((tool) => (tool.name === LOADER ? { ...tool, name: other } : tool)),
    upstreamNames: names,
    served,
    diagnostics,
  };
}

/** Whether its server says that a tool changes nothing. Without a word on it, it may. */
export function onlyReads({ annotations }: Pick<Tool, 'annotations'>): boolean {
  return annotations?.readOnlyHint === true;
}

/** Tools under names that every client takes. Skills are put on them before, since they know the server's names. */
export async function exposed<T extends { readonly name: string }>(tools: readonly T[]): Promise<T[]> {
  const names = await exposeNames(tools.map(({ name: tool }) => ({ server: null, tool })));
  return tools.map((tool, index) => {
    const name = names[index] ?? tool.name;
    return name === tool.name ? tool : { ...tool, name };
  });
}

/** The name shown that a client knows as `name`; the same where none is known like that. */
export async function shownName({ tools }: ShownTools, name: string): Promise<string> {
  const known = await exposed(tools);
  return tools[known.findIndex((tool) => tool.name === name)]?.name ?? name;
}
