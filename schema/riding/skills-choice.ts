import { isAbsent, type Refuse, refuseNul } from './values.ts';

/** What `skills:` asks for. The project layer is part of every choice. */
export interface SkillsChoice {
  /** Bundled and framework layers. */
  readonly defaults: boolean;
  /** Paths as written; `resolveSkillsPath` makes them absolute. The first wins over the others. */
  readonly declared: readonly {
    readonly raw: string;
    /** `skills` or `skills[1]`, for errors. */
    readonly key: string;
  }[];
}

/** What may be written, by where a manifest is read. */
const CHOICES = {
  device: { value: 'true, false, a path, or a list of true and paths', item: 'true or a path' },
  cloud: { value: 'true, false, [true] or []', item: 'true' },
} as const;

/**
 * Reads the value of `skills:`. Null, for an absent one and for false, means off completely: nothing is injected, there
 * are no prompts, and no directory is read. True adds our own skills and the project's; a path adds its directory to
 * those; a list adds what it names to the project's, and our own only when true is among it, wherever it stands.
 */
export function readSkillsChoice(
  value: unknown,
  host: keyof typeof CHOICES,
  refuse: Refuse,
): SkillsChoice | null {
  if (isAbsent(value) || value === false) return null;
  const items: unknown[] = Array.isArray(value) ? value : [value];
  const declared = items.flatMap((item, index) => {
    const key = Array.isArray(value) ? `skills[${index}]` : 'skills';
    if (item === true) return [];
    if (typeof item !== 'string')
      refuse(`\`${key}\` must be ${CHOICES[host][Array.isArray(value) ? 'item' : 'value']}`);
    if (item === '') refuse(`\`${key}\` is an empty path; write a directory, or leave it out`);
    refuseNul(item, key, refuse);
    if (host === 'cloud') {
      refuse(
        `\`${key}\` is a path, which means nothing in the cloud; write \`skills: true\`, and the skills of the registry ride by themselves`,
      );
    }
    return [{ raw: item, key }];
  });
  const defaults = !Array.isArray(value) || value.includes(true);
  return { defaults, declared };
}
