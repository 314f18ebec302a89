import type { RidingTool } from './compose.ts';
import type { Diagnostic } from './diagnostic.ts';
import { isAbsent, isMapping, knownKeys, type Refuse, readText } from './values.ts';

/** What a manifest changes about one tool of the upstream. */
export interface ToolOverride {
  /** The upstream's name for it. */
  readonly tool: string;
  readonly rename: string | null;
  readonly description: string | null;
  readonly hidden: boolean;
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

/** Reads the value of `tools`: a list of `{bundled: NAME}` with `rename`, `description` and `hidden`. */
export function readOverrides(value: unknown, refuse: Refuse): ToolOverride[] {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) refuse('`tools` must be a list');
  const overrides = value.map((entry: unknown, index): ToolOverride => {
    const key = `tools[${index}]`;
    if (!isMapping(entry)) refuse(`\`${key}\` must be a mapping with \`bundled\``);
    for (const kind of ['cypher', 'python']) {
      if (kind in entry) {
        refuse(
          `\`${key}.${kind}\` defines a tool, but Repertoire hosts no graph and runs none; remove it, and offer the tool in the upstream`,
        );
      }
    }
    knownKeys(entry, ['bundled', 'rename', 'description', 'hidden'], key, refuse);
    const tool = readText(entry.bundled, `${key}.bundled`, refuse);
    if (tool === null || tool === '') refuse(`\`${key}.bundled\` must name a tool of the upstream`);
    const rename = readText(entry.rename, `${key}.rename`, refuse);
    if (rename !== null && !NAME.test(rename)) {
      refuse(
        `\`${key}.rename\` must begin with a letter or \`_\` and have at most 64 letters, digits, \`_\` and \`-\``,
      );
    }
    const hidden = entry.hidden ?? false;
    if (typeof hidden !== 'boolean') refuse(`\`${key}.hidden\` must be true or false`);
    return { tool, rename, description: readText(entry.description, `${key}.description`, refuse), hidden };
  });
  refuseRepeats(overrides, refuse);
  return overrides;
}

function refuseRepeats(overrides: readonly ToolOverride[], refuse: Refuse): void {
  const targets = new Set<string>();
  const names = new Set<string>();
  for (const { tool, rename } of overrides) {
    if (targets.has(tool)) refuse(`\`tools\` changes \`${tool}\` twice; write one entry`);
    if (rename !== null && names.has(rename))
      refuse(`\`tools\` gives two tools the name \`${rename}\`; choose another`);
    targets.add(tool);
    if (rename !== null) names.add(rename);
  }
}

/**
 * The upstream's tools as shown, each with a name of its own, and the upstream's name for each name shown. Nothing given
 * is changed. A target that the upstream does not have and a new name that is taken are diagnostics of severity `error`:
 * a host refuses to start on them, and later, when the upstream's list changes, goes on without the change.
 */
export function applyOverrides<Tool extends RidingTool>(
  tools: readonly Tool[],
  manifest: { readonly tools: readonly ToolOverride[]; readonly toolsAllow: readonly string[] | null },
): { tools: Tool[]; upstreamNames: ReadonlyMap<string, string>; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const report = (tool: string, message: string) =>
    diagnostics.push({ severity: 'error', code: 'unmatched-override', tool, message });
  const overrides = new Map(manifest.tools.map((override) => [override.tool, override]));
  const present = new Set(tools.map(({ name }) => name));
  for (const tool of overrides.keys()) {
    if (!present.has(tool))
      report(tool, `The manifest changes the tool \`${tool}\`, which the upstream does not have.`);
  }

  const left = tools.filter(({ name }) => !overrides.get(name)?.hidden);
  const shown = new Map<string, Tool>();
  const named = new Map<Tool, string>();
  const place = (tool: Tool, name: string): boolean => {
    if (shown.has(name)) return false;
    shown.set(name, tool);
    named.set(tool, name);
    return true;
  };
  // Tools that keep their names come first, so that no new name takes one of them away.
  for (const tool of left.filter(({ name }) => !overrides.get(name)?.rename)) {
    if (!place(tool, tool.name))
      report(tool.name, `The upstream lists the tool \`${tool.name}\` twice; the first is shown.`);
  }
  for (const tool of left) {
    const rename = overrides.get(tool.name)?.rename;
    if (!rename || place(tool, rename)) continue;
    report(
      tool.name,
      `The tool \`${tool.name}\` cannot be renamed: the name \`${rename}\` is taken; choose another.`,
    );
    place(tool, tool.name);
  }

  const { toolsAllow } = manifest;
  const result: Tool[] = [];
  const upstreamNames = new Map<string, string>();
  for (const tool of left) {
    const name = named.get(tool);
    if (name === undefined || (toolsAllow !== null && !toolsAllow.includes(name))) continue;
    const description = overrides.get(tool.name)?.description ?? null;
    const changed = name !== tool.name || description !== null;
    result.push(changed ? { ...tool, name, ...(description !== null && { description }) } : tool);
    upstreamNames.set(name, tool.name);
  }
  return { tools: result, upstreamNames, diagnostics };
}
