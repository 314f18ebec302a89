import { compareBytes } from '../digest.ts';
import type { Delivery } from './delivery.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { RidingSkill } from './skill.ts';
import { trimWhiteSpace } from './text.ts';

export interface RidingTool {
  readonly name: string;
  readonly description?: string | undefined;
}

/** What rides on one tool. */
export interface Ride {
  readonly tool: string;
  /** In the order in which they stand; `chars` is what each adds, in UTF-16 units. */
  readonly skills: readonly { readonly name: string; readonly chars: number }[];
  readonly form: 'eager' | 'lazy';
  /** UTF-16 units of the base text, and of the composed description. */
  readonly baseLength: number;
  readonly length: number;
}

export interface ComposeInput<Tool extends RidingTool> {
  /** The tools of this request, after renaming and hiding. */
  readonly tools: readonly Tool[];
  readonly active: readonly RidingSkill[];
  readonly delivery: Delivery;
  /** See `descriptionCap`. */
  readonly cap: number | null;
  /** Name, in this request's list, of the tool that loads a method; null when there is none. */
  readonly loader: string | null;
  /** The client's title, for diagnostics. */
  readonly client?: string;
}

const BREAK = '\n\n';

/**
 * Tools with the skills' texts behind their descriptions. Nothing given is changed, a tool without a ride is the one
 * given, and equal inputs give equal bytes. On one tool the skill of its own name comes first, then the others by name in
 * byte order, each once. A skill whose marker the base text already holds is left out there: the upstream injects it.
 *
 * `auto` is eager unless the client's cap is known and the eager text is longer, judged for each tool by itself. Lazy
 * needs a loader; without one every block is eager. Routing text is never cut: what is too long even so is sent whole.
 */
export function composeTools<Tool extends RidingTool>(
  input: ComposeInput<Tool>,
): { tools: Tool[]; rides: Ride[]; diagnostics: Diagnostic[] } {
  const { active, delivery, cap, loader, client = 'this client' } = input;
  const riders = new Riders(active);
  const rides: Ride[] = [];
  const diagnostics: Diagnostic[] = [];
  const eager = memoize((skill) => block(skill, null));
  const lazy = memoize((skill) => block(skill, loader));

  const tools = input.tools.map((tool) => {
    const base = tool.description ?? '';
    const skills = riders.of(tool.name).filter((skill) => {
      if (!base.includes(marker(skill))) return true;
      const message = `The description of \`${tool.name}\` already carries the skill \`${skill.name}\`, so it is not added.`;
      diagnostics.push({
        severity: 'info',
        code: 'already-there',
        tool: tool.name,
        skill: skill.name,
        message,
      });
      return false;
    });
    if (skills.length === 0) return tool;

    const lead = base === '' ? 0 : BREAK.length;
    const eagerLength =
      base.length +
      lead +
      skills.reduce((sum, skill) => sum + eager(skill).length + BREAK.length, -BREAK.length);
    const tooLong = cap !== null && eagerLength > cap;
    const form =
      loader !== null && (delivery === 'lazy' || (delivery === 'auto' && tooLong)) ? 'lazy' : 'eager';
    const texts = skills.map(form === 'lazy' ? lazy : eager);
    // Joined with `+`, long texts are copied once, when the answer is written, instead of here as well.
    const description = texts.reduce((whole, text) => (whole === '' ? text : whole + BREAK + text), base);
    rides.push({
      tool: tool.name,
      skills: skills.map((skill, index) => ({
        name: skill.name,
        chars: (texts[index]?.length ?? 0) + (index === 0 ? lead : BREAK.length),
      })),
      form,
      baseLength: base.length,
      length: description.length,
    });
    if (cap !== null && description.length > cap) {
      const message = `The description of \`${tool.name}\` has ${description.length} characters with its skills, and ${client} shows ${cap}; shorten or split them${form === 'eager' && loader !== null ? ', or deliver them lazily' : ''}.`;
      diagnostics.push({ severity: 'warning', code: 'over-cap', tool: tool.name, message });
    }
    return { ...tool, description };
  });

  for (const skill of active) {
    if (!skill.autoInject || riders.used(skill)) continue;
    diagnostics.push({
      severity: 'info',
      code: 'rides-nothing',
      path: skill.source,
      skill: skill.name,
      message: `The skill \`${skill.name}\` rides on nothing: no tool has its name or is among its \`references_tools\`.`,
    });
  }
  return { tools, rides, diagnostics };
}

function marker(skill: RidingSkill): string {
  return `<!-- mcp-skill:${skill.name} -->`;
}

/** One skill's text; `loader` is the tool that loads the method in its place, null to have the method itself. */
function block(skill: RidingSkill, loader: string | null): string {
  const routing = trimWhiteSpace(skill.description);
  const head = marker(skill) + (routing === '' ? '' : `${BREAK}## When to use${BREAK}${routing}`);
  const method = skill.method === '' ? '' : BREAK + skill.method;
  if (loader === null) return `${head}${BREAK}## Methodology${method}`;
  if (method === '') return head;
  return `${head}${BREAK}Before you first use this tool, read the method: call \`${loader}\` with action "get" and name ${JSON.stringify(skill.name)}.`;
}

/** Which skills ride on which tool, looked up by the tool's name. */
class Riders {
  readonly #exact = new Map<string, Set<RidingSkill>>();
  readonly #alike = new Map<string, Set<RidingSkill>>();
  readonly #used = new Set<RidingSkill>();

  constructor(active: readonly RidingSkill[]) {
    for (const skill of active) {
      if (!skill.autoInject) continue;
      for (const target of [skill.name, ...skill.referencesTools]) add(this.#exact, target, skill);
      if (skill.matching === 'alike') add(this.#alike, alike(skill.name), skill);
    }
  }

  of(tool: string): RidingSkill[] {
    const found = new Set([...(this.#exact.get(tool) ?? []), ...(this.#alike.get(alike(tool)) ?? [])]);
    for (const skill of found) this.#used.add(skill);
    return [...found].sort((a, b) => rank(a, tool) - rank(b, tool) || compareBytes(a.name, b.name));
  }

  used(skill: RidingSkill): boolean {
    return this.#used.has(skill);
  }
}

function add(index: Map<string, Set<RidingSkill>>, key: string, skill: RidingSkill): void {
  const skills = index.get(key);
  if (skills) skills.add(skill);
  else index.set(key, new Set([skill]));
}

function alike(name: string): string {
  return name.replaceAll('_', '-');
}

function rank(skill: RidingSkill, tool: string): number {
  if (skill.name === tool) return 0;
  return skill.matching === 'alike' && alike(skill.name) === alike(tool) ? 1 : 2;
}

function memoize(make: (skill: RidingSkill) => string): (skill: RidingSkill) => string {
  const made = new Map<RidingSkill, string>();
  return (skill) => {
    const text = made.get(skill) ?? make(skill);
    made.set(skill, text);
    return text;
  };
}
