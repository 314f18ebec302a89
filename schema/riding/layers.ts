import type { RidingSkill } from './skill.ts';

export type LayerKind = 'bundled' | 'framework' | 'project' | 'declared';

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

/** One skill per name, by name in byte order: `winners`, and what each of them masks, highest first. */
export declare function resolveLayers(layers: readonly Layer[]): {
  skills: RidingSkill[];
  winners: (Placed & { readonly masked: readonly Placed[] })[];
};
