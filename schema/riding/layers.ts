import { compareBytes } from '../digest.ts';
import type { RidingSkill } from './skill.ts';

/** From the lowest to the highest. */
const KINDS = ['bundled', 'framework', 'project', 'declared'] as const;
export type LayerKind = (typeof KINDS)[number];

/** Skills from one place, one per name. */
export interface Layer {
  readonly kind: LayerKind;
  /** Where it comes from, for a person. */
  readonly label: string;
  readonly skills: readonly RidingSkill[];
}

export interface Placed {
  readonly skill: RidingSkill;
  readonly layer: Layer;
}

/**
 * One skill per name, by name in byte order: the one of the highest layer replaces the others whole, and among layers of
 * one kind the one given first wins. This comes before gates: a winner that turns out inactive still masks the rest.
 * `winners` adds where each comes from and what it masks, highest first.
 */
export function resolveLayers(layers: readonly Layer[]): {
  skills: RidingSkill[];
  winners: (Placed & { readonly masked: readonly Placed[] })[];
} {
  const byName = new Map<string, Placed[]>();
  for (const layer of layers.toSorted((a, b) => KINDS.indexOf(b.kind) - KINDS.indexOf(a.kind))) {
    for (const skill of layer.skills) {
      const placed = byName.get(skill.name);
      if (placed) placed.push({ skill, layer });
      else byName.set(skill.name, [{ skill, layer }]);
    }
  }
  const winners = [...byName.values()]
    .map(([first, ...masked]) => ({ ...(first as Placed), masked }))
    .sort((a, b) => compareBytes(a.skill.name, b.skill.name));
  return { skills: winners.map(({ skill }) => skill), winners };
}
