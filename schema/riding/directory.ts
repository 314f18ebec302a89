import type { Diagnostic } from './diagnostic.ts';
import type { Layer, LayerKind } from './layers.ts';

/** `file`: a regular file, or a symbolic link to one. */
export interface DirectoryEntry {
  readonly name: string;
  readonly file: boolean;
}

/** The files of a directory that are skills, in the order in which they are read. */
export declare function skillFileNames(entries: readonly DirectoryEntry[]): string[];

/** A file's bytes, or why they could not be read. */
export type SkillFile = { readonly path: string } & (
  | { readonly content: Uint8Array | string }
  | { readonly error: string }
);

/** Reads the files of one layer in the order given. `label` names the layer to a person: a directory, or the registry. */
export declare function readLayer(input: {
  kind: LayerKind;
  label: string;
  files: readonly SkillFile[];
  matching?: 'exact' | 'alike';
}): { layer: Layer; diagnostics: Diagnostic[] };

/** Our own skills. @throws StartError when one is broken, named unlike its key, or named twice. */
export declare function shippedLayer(
  kind: 'bundled' | 'framework',
  registrations: readonly { readonly key: string; readonly text: string }[],
): Layer;
