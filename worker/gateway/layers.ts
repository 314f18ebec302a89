import { concerningNotes, concerns, ITEM_SOURCE } from '../../schema/riding/concern.ts';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import { readLayer } from '../../schema/riding/directory.ts';
import { resolveLayers } from '../../schema/riding/layers.ts';
import type { Manifest } from '../../schema/riding/manifest.ts';
import { shippedLayers } from '../../schema/riding/shipped.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';
import type { SkillsChoice } from '../../schema/riding/skills-choice.ts';
import type { Context } from '../registry/context.ts';
import { itemsNamed, type OpenedServer, type RidingItem, readContents } from '../registry/riding-source.ts';
import { keptOf } from './kept.ts';
import { Shelf } from './shelf.ts';

/** One skill per name, and what there is to say of those that are none. */
export interface Resolved {
  readonly skills: readonly RidingSkill[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * The skills of a server by riding.md section 2, one per name: ours, then the account's items that name its tools or are
 * called like one, then those declared for it alone. None when the manifest has them off.
 */
export async function resolveSkills(
  ctx: Context,
  server: OpenedServer,
  manifest: Manifest,
  tools: readonly string[],
): Promise<Resolved> {
  if (manifest.skills === null) return { skills: [], diagnostics: [] };
  const items = await itemsFor(ctx, server, tools);
  const { skills, diagnostics } = await resolvedOnce(ctx, server, manifest.skills, items);
  const names = new Set(tools);
  const concerned = skills.filter((skill) => concerns(skill, names));
  return { skills: concerned, diagnostics: concerningNotes(diagnostics, { skills, concerned }) };
}

/** As read from the contents that `of` names: reading hundreds anew costs more than all the rest of a list. */
const kept = new Shelf<Resolved & { readonly of: string }>('skills');

async function resolvedOnce(
  ctx: Context,
  server: OpenedServer,
  choice: SkillsChoice,
  items: readonly RidingItem[],
): Promise<Resolved> {
  const of = JSON.stringify([items, server.source.declared.map(({ file, digest }) => [file, digest])]);
  const { key } = keptOf(server);
  const known = kept.get(key);
  if (known?.of === of) return known;
  const resolved = await resolve(ctx, server, choice, items);
  const chars = resolved.skills.reduce(
    (sum, { description, method }) => sum + description.length + method.length,
    0,
  );
  kept.set(key, { of, ...resolved }, of.length + chars);
  return resolved;
}

async function resolve(
  ctx: Context,
  server: OpenedServer,
  { defaults }: SkillsChoice,
  items: readonly RidingItem[],
): Promise<Resolved> {
  const bytes = await readContents(
    ctx,
    items.map(({ digest }) => digest),
  );
  const project = readLayer({
    kind: 'project',
    label: 'the registry',
    files: items.flatMap(({ name, digest }) => {
      const content = bytes.get(digest);
      return content ? [{ path: ITEM_SOURCE + name, content }] : [];
    }),
    matching: 'alike',
  });
  const declared = readLayer({
    kind: 'declared',
    label: `skills of the server ${server.name}`,
    files: server.source.declared.map(({ file, text }) => ({ path: file, content: text })),
  });
  const { bundled, framework } = shippedLayers();
  const { skills } = resolveLayers([
    ...(defaults ? [bundled, framework] : []),
    project.layer,
    declared.layer,
  ]);
  return { skills, diagnostics: [...project.diagnostics, ...declared.diagnostics] };
}

/** The opened server's candidates were found by its last list; tools that are not in that one are looked up by name. */
async function itemsFor(ctx: Context, server: OpenedServer, tools: readonly string[]): Promise<RidingItem[]> {
  const known = new Set(server.source.tools?.flatMap((tool) => nameOf(tool)));
  const others = tools.filter((tool) => !known.has(tool)).map((tool) => tool.replaceAll('_', '-'));
  if (others.length === 0) return [...server.source.candidates];
  const found = await itemsNamed(ctx, others);
  const byName = new Map([...server.source.candidates, ...found].map((item) => [item.name, item]));
  return [...byName.values()];
}

function nameOf(tool: unknown): string[] {
  const { name } = (tool ?? {}) as { name?: unknown };
  return typeof name === 'string' ? [name] : [];
}
