import type { Kind } from '../../schema/item.ts';
import type { SkillKey } from '../registry/skill-source.ts';

const SCHEME = 'skill://';
/** First segments that no skill may have for its own, so that each URI names one file only. */
const FOLDERS = { skill: 'skills', persona: 'personas' } as const satisfies Record<Kind, string>;

/** A place inside an item: a file, or a folder; the empty path is the item's own folder. */
export interface SkillPlace extends SkillKey {
  readonly path: string;
}

/**
 * URI of a file or folder of an item: `skill://name/path`, for a persona `skill://personas/name/path`. A skill whose
 * name is one of those first segments is `skill://skills/name/path`.
 */
export function skillUri({ kind, name, path }: SkillPlace): string {
  const inFolder = kind === 'persona' || Object.values<string>(FOLDERS).includes(name);
  const segments = [...(inFolder ? [FOLDERS[kind]] : []), name, ...(path === '' ? [] : path.split('/'))];
  return SCHEME + segments.map(encodeURIComponent).join('/');
}

/** The place that a URI names; null when it is none of ours, or written with a query, a fragment or empty segments. */
export function parseSkillUri(uri: string): SkillPlace | null {
  if (!uri.startsWith(SCHEME)) return null;
  const segments = decodeSegments(uri.slice(SCHEME.length));
  if (segments === null) return null;
  const kind = segments[0] === FOLDERS.persona ? 'persona' : 'skill';
  const inFolder = kind === 'persona' || segments[0] === FOLDERS.skill;
  const [name = '', ...path] = inFolder ? segments.slice(1) : segments;
  const place: SkillPlace = { kind, name, path: path.join('/') };
  const isOwn = inFolder === skillUri(place).startsWith(`${SCHEME}${FOLDERS[kind]}/`);
  return name !== '' && isOwn ? place : null;
}

function decodeSegments(text: string): string[] | null {
  if (/[?#]/.test(text)) return null;
  try {
    const segments = text.split('/').map(decodeURIComponent);
    return segments.every((segment) => segment !== '' && !segment.includes('/')) ? segments : null;
  } catch {
    return null;
  }
}
