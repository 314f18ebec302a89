import { RegistryError } from '../errors.ts';
import { parseMapping, type YamlMapping } from '../yaml.ts';
import { type Delivery, isDelivery } from './delivery.ts';
import { StartError } from './diagnostic.ts';
import { type GraphMapping, readGraphMapping } from './graph.ts';
import { readOverrides, type ToolOverride } from './overrides.ts';
import { readSkillsChoice, type SkillsChoice } from './skills-choice.ts';
import { readUpstream, type Upstream } from './upstream.ts';
import { isAbsent, isMapping, knownKeys, quote, type Refuse, readText } from './values.ts';

/** Where a manifest is read: on a device, with its files and programs, or in the cloud, with neither. */
export type Host = 'device' | 'cloud';

/** What a manifest says about a server that Repertoire fronts, checked as far as that goes without files or the server. */
export interface Manifest {
  readonly name: string | null;
  /** Null when the manifest names none: a start-up error on a device, the account's own setting in the cloud. */
  readonly upstream: Upstream | null;
  readonly instructions: string | null;
  readonly overviewPrefix: string | null;
  /** The tool whose bare calls carry banner and prefix, by the name shown. */
  readonly overviewTool: string;
  /** Null: skills are off. */
  readonly skills: SkillsChoice | null;
  readonly delivery: Delivery;
  readonly tools: readonly ToolOverride[];
  readonly extensions: Readonly<Record<string, unknown>>;
  /** `extensions.tools_allow`: the only tools that are shown, by the names shown; null for all. */
  readonly toolsAllow: readonly string[] | null;
  readonly graph: GraphMapping | null;
}

const UPSTREAM = ['command', 'args', 'env', 'cwd', 'url', 'headers'];
const KEYS = [
  'name',
  ...UPSTREAM,
  'instructions',
  'overview_prefix',
  'overview_tool',
  'skills',
  'skills_delivery',
  'tools',
  'extensions',
  'graph',
];
/** Keys of manifests for servers that host a graph themselves. */
const HOSTING = ['builtins', 'workspace', 'embedder', 'trust'];
const MANIFEST_BYTES = 256 * 1024;
const OVERVIEW_TOOL = 'graph_overview';

/**
 * Reads a manifest (YAML, hence JSON too); an empty one is an empty mapping. `source` names it in errors.
 * @throws StartError for whatever cannot be served as it is written
 */
export function parseManifest(text: string, { source, host }: { source: string; host: Host }): Manifest {
  const refuse: Refuse = (what) => {
    throw new StartError(`${source}: ${what}.`);
  };
  const { data, entries } = parse(text, source, refuse);
  const hosting = HOSTING.filter((key) => key in data);
  if (hosting.length > 0) {
    refuse(
      `${quote(hosting)} cannot be served, since Repertoire hosts no graph and runs none; remove ${hosting.length === 1 ? 'it' : 'them'}, and let the upstream do it`,
    );
  }
  const keys = host === 'cloud' ? KEYS.filter((key) => !UPSTREAM.includes(key)) : KEYS;
  const local = host === 'cloud' ? UPSTREAM.filter((key) => key in data) : [];
  if (local.length > 0) {
    refuse(
      `${quote(local)} ${local.length === 1 ? 'is' : 'are'} for \`repertoire serve\` on a device; in the cloud a server's address and its credential are kept beside the manifest`,
    );
  }
  knownKeys(data, keys, null, refuse);

  const delivery = data.skills_delivery ?? 'auto';
  if (!isDelivery(delivery)) refuse('`skills_delivery` must be eager, lazy or auto');
  const extensions = data.extensions ?? {};
  if (!isMapping(extensions)) refuse('`extensions` must be a mapping');
  const name = readText(data.name, 'name', refuse);
  if (name?.trim() === '') refuse('`name` is blank; write one, or leave it out');
  const args = entries.find(({ key }) => key === 'args')?.items;
  return {
    name,
    upstream: readUpstream(data, args, refuse),
    instructions: readText(data.instructions, 'instructions', refuse),
    overviewPrefix: readText(data.overview_prefix, 'overview_prefix', refuse),
    overviewTool: readText(data.overview_tool, 'overview_tool', refuse) ?? OVERVIEW_TOOL,
    skills: readSkillsChoice(data.skills, host, refuse),
    delivery,
    tools: readOverrides(data.tools, refuse),
    extensions,
    toolsAllow: readAllowed(extensions.tools_allow, refuse),
    graph: readGraphMapping(data.graph, refuse),
  };
}

function parse(text: string, source: string, refuse: Refuse): YamlMapping {
  if (new TextEncoder().encode(text).length > MANIFEST_BYTES)
    refuse('It is larger than 256 KiB; make it smaller');
  try {
    const yaml = text.replace(/^\uFEFF/, '').replace(/\r(?!\n)/g, '\n');
    return (
      parseMapping(yaml, 1, source) ??
      refuse(
        'It is not a valid YAML mapping; check the indentation, and put values with a colon in double quotes',
      )
    );
  } catch (error) {
    if (error instanceof RegistryError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

function readAllowed(value: unknown, refuse: Refuse): string[] | null {
  if (isAbsent(value)) return null;
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) {
    refuse('`extensions.tools_allow` must be a list of tool names');
  }
  return value;
}
