import { BUNDLED, FRAMEWORK, type Registration } from './bundled.ts';
import { StartError } from './diagnostic.ts';
import type { Layer } from './layers.ts';
import { type RidingSkill, readRidingSkill } from './skill.ts';

let shipped: { readonly bundled: Layer; readonly framework: Layer } | null = null;

/** Our own skills, read once. @throws StartError when one is broken */
export function shippedLayers(): { readonly bundled: Layer; readonly framework: Layer } {
  shipped ??= { bundled: shippedLayer('bundled', BUNDLED), framework: shippedLayer('framework', FRAMEWORK) };
  return shipped;
}

/** One layer of them. @throws StartError when one is broken, named unlike its key, or named twice. */
export function shippedLayer(kind: 'bundled' | 'framework', registrations: readonly Registration[]): Layer {
  const skills = new Map<string, RidingSkill>();
  for (const { key, text } of registrations) {
    const { skill, diagnostics } = readRidingSkill(`${kind}:${key}`, text);
    const broken = diagnostics.find(({ severity }) => severity === 'error');
    if (broken) throw new StartError(`The ${kind} skill \`${key}\` is broken: ${broken.message}`);
    if (skill?.name !== key) {
      throw new StartError(
        `The ${kind} skill \`${key}\` names itself \`${skill?.name}\`; the two must be equal.`,
      );
    }
    if (skills.has(key))
      throw new StartError(`The ${kind} skill \`${key}\` is registered twice; register it once.`);
    skills.set(key, skill);
  }
  return { kind, label: kind, skills: [...skills.values()] };
}
