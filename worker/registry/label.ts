import { RegistryError } from '../../schema/errors.ts';

/** Nothing that breaks a line, hides or reorders what a person reads. */
const READABLE = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+$/u;

/** A name that a person gave, without the blanks around it. @throws RegistryError `invalid_input` for one that is no line */
export function labelOf(text: string, field: string): string {
  const label = text.trim();
  if (label !== '' && READABLE.test(label)) return label;
  throw new RegistryError(
    'invalid_input',
    'This name is empty or holds characters that cannot be seen; give one line of plain text.',
    { field },
  );
}
