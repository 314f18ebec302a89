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
  readonly diagnostics: readonly Diagnostic[];
}

/** A server's tools as its manifest lets them be seen. One that is called like the loader is shown under another name. */
export async function shownTools(
  listed: readonly Tool[],
  manifest: Manifest,
  server: string,
): Promise<ShownTools> {
  const { tools, upstreamNames, diagnostics } = applyOverrides(listed, manifest);
  if (!upstreamNames.has(LOADER)) return { tools, upstreamNames, diagnostics };
  const [other = LOADER] = await exposeNames([{ server, tool: LOADER }]);
  const names = new Map([...upstreamNames].map(([shown, own]) => [shown === LOADER ? other : shown, own]));
  return {
    tools: tools.map((tool) => (tool.name === LOADER ? { ...tool, name: other } : tool)),
    upstreamNames: names,
    diagnostics,
  };
}
