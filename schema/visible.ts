// Controls could move a cursor or repaint a screen, and bidi marks reorder what a person reads.
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Foreign text with every character visible: controls, zero-width and bidi marks as their code. Line breaks and tabs stay. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(HIDDEN, (character) => `<U+${hexadecimal(character.codePointAt(0) as number)}>`);
}

/** {@link visible} on one line. */
export function oneLine(text: string): string {
  return visible(text.replace(/\s+/g, ' ').trim());
}

function hexadecimal(codePoint: number): string {
  return codePoint.toString(16).toUpperCase().padStart(4, '0');
}
