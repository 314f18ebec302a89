import { hash } from 'node:crypto';
import { RegistryError } from '../schema/errors.ts';
import type { ClientFolder } from '../schema/folders.ts';
import { decodeText, readFrontMatter } from '../schema/frontmatter.ts';
import { type Kind, MAIN_FILE } from '../schema/item.ts';
import { type Persona, type PersonaFormat, personaFile } from '../schema/persona.ts';
import type { MirrorItem } from './mirror.ts';

export interface WantedFile {
  /** Below the client folder, slashes: `name/SKILL.md`, or `name.md` for a persona. */
  path: string;
  digest: string;
  executable: boolean;
  /** Where they were generated; else the mirror has them by digest. */
  bytes?: Uint8Array;
}

/** An item as it should be in one client folder. */
export interface Want {
  item: string;
  kind: Kind;
  name: string;
  revision: number;
  /** The one name below the folder. */
  at: string;
  files: WantedFile[];
}

/** An item that should be in the folder but cannot be written there yet. What is there of it stays. */
export interface Held {
  item: string;
  kind: Kind;
  name: string;
  held: 'held_back' | 'failed';
  reason: string;
}

export interface WantedSource {
  /** Bytes by digest; null when they are not here. */
  content(digest: string): Uint8Array | null;
  has(digest: string): boolean;
  /** Whether the person agreed that the persona goes to the client without its restriction. */
  agreed(item: string, client: PersonaFormat): boolean;
}

/** What a client folder should hold of an item; null when nothing. */
export function wantedIn(folder: ClientFolder, item: MirrorItem, source: WantedSource): Want | Held | null {
  if (item.kind !== folder.kind || item.state !== 'active') return null;
  const { id, kind, name, revision } = item;
  const ref = { item: id, kind, name };
  if (item.refused !== undefined) return { ...ref, held: 'failed', reason: item.refused };
  const missing = item.files.find(({ digest }) => !source.has(digest));
  if (missing) {
    return {
      ...ref,
      held: 'failed',
      reason: `${missing.path} of ${name} could not be fetched from the registry; the next pass tries again.`,
    };
  }
  if (folder.format === 'skill-folder') {
    const files = item.files.map(({ path, digest, executable }) => ({
      path: `${name}/${path}`,
      digest,
      executable,
    }));
    return { ...ref, revision, at: name, files };
  }
  try {
    const file = personaFile(folder.format, readPersona(item, source), source.agreed(id, folder.format));
    if (file.needsAgreement) return { ...ref, held: 'held_back', reason: file.reason };
    const digest = hash('sha256', file.bytes, 'hex');
    const wanted = { path: file.fileName, digest, executable: false, bytes: file.bytes };
    return { ...ref, revision, at: file.fileName, files: [wanted] };
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return { ...ref, held: 'failed', reason: `The persona ${name} cannot be written: ${error.message}` };
  }
}

/** @throws RegistryError when the front matter is hostile, or PERSONA.md no text or gone */
function readPersona({ name, description, files }: MirrorItem, source: WantedSource): Persona {
  const main = files.find(({ path }) => path === MAIN_FILE.persona);
  const raw = main && source.content(main.digest);
  const text = raw && decodeText(raw);
  if (!raw || text === null || text === undefined) {
    throw new RegistryError('invalid_input', `${MAIN_FILE.persona} is no text.`);
  }
  const { reading, data, bodyStart } = readFrontMatter(text);
  return { name, description, body: text.slice(bodyStart), data: reading === 'none' ? {} : data, raw };
}
