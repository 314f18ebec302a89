import { lstatSync, statSync } from 'node:fs';
import { basename, dirname, extname, resolve } from 'node:path';
import { type Diagnostic, StartError } from '../../schema/riding/diagnostic.ts';
import type { Layer } from '../../schema/riding/layers.ts';
import { type Manifest, parseManifest } from '../../schema/riding/manifest.ts';
import { projectDirectory, resolveSkillsPath } from '../../schema/riding/paths.ts';
import { shippedLayers } from '../../schema/riding/shipped.ts';
import { sentence } from '../cli/failure.ts';
import type { StateFiles } from '../state.ts';
import { directoryReader, type Reading, readRegularFile } from './files.ts';
import { registryReader } from './registry-layer.ts';

/** A manifest with the directories that its skills come from. */
export interface Project {
  /** Full path of the manifest. */
  readonly path: string;
  readonly directory: string;
  readonly manifest: Manifest;
  /** What a person calls the server. */
  readonly name: string;
  /**
   * The layers as they are just now; none when skills are off. `loader` is the name under which the `skills` tool is
   * offered: our own skills are about a tool of ours, and stay away where that name is another server's.
   */
  layers(loader: string | null): { layers: Layer[]; diagnostics: Diagnostic[] };
  /** Directories in which a change may change the layers, whether they are there or not. */
  readonly watched: readonly string[];
}

export interface Place {
  /** Folder that a relative path of the manifest starts from. */
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Null where the registry's skills do not join. */
  state: StateFiles | null;
}

const MANIFEST_BYTES = 256 * 1024;

/** @throws StartError, naming what must be put right */
export function openProject(file: string, { cwd, env, state }: Place): Project {
  const path = resolve(cwd, file);
  const directory = dirname(path);
  const manifest = parseManifest(readManifest(path), { source: path, host: 'device' });
  const name = manifest.name ?? basename(path, extname(path));
  const { skills } = manifest;
  const base = { path, directory, manifest, name, watched: [] };
  if (skills === null) return { ...base, layers: () => ({ layers: [], diagnostics: [] }) };

  const declared = skills.declared.map(({ raw, key }) => {
    const found = resolveSkillsPath(raw, { directory, home: env.HOME });
    if (isDirectory(found)) return found;
    throw new StartError(
      `${path}: ${key} names ${JSON.stringify(raw)}, and ${found} is no directory; make it, or take the path out.`,
    );
  });
  const own = projectDirectory(path);
  const readOwn = directoryReader('project', own);
  const readDeclared = declared.map((each) => directoryReader('declared', each));
  const readRegistry = state && registryReader(state);
  // Of those that are about a tool of ours, a server in front of others has the loader's alone.
  const { bundled, framework } = shippedLayers();
  const loaders = { ...bundled, skills: bundled.skills.filter(({ name }) => name === 'skills') };

  return {
    ...base,
    watched: [own, ...declared, ...(state ? [state.mirror] : [])],
    layers(loader) {
      const ours = skills.defaults && loader === 'skills' ? [loaders, framework] : [];
      const readings = [
        isDirectory(own) ? readOwn() : misplaced(own),
        ...readDeclared.map((read) => read()),
        readRegistry?.() ?? null,
      ].filter((reading) => reading !== null);
      return {
        layers: [...ours, ...readings.map(({ layer }) => layer)],
        diagnostics: readings.flatMap(({ diagnostics }) => diagnostics),
      };
    },
  };
}

function readManifest(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readRegularFile(path, MANIFEST_BYTES));
  } catch (error) {
    throw new StartError(
      error instanceof TypeError ? `${path} is no UTF-8 text; save it as UTF-8.` : sentence(error),
    );
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The project's directory is optional; only something else in its place is worth a word. */
function misplaced(path: string): Reading | null {
  if (!lstatSync(path, { throwIfNoEntry: false })) return null;
  const message = `${path} is no directory, so that the project has no skills of its own; a directory belongs there.`;
  return {
    layer: { kind: 'project', label: path, skills: [] },
    diagnostics: [{ severity: 'warning', code: 'not-a-directory', path, message }],
  };
}
