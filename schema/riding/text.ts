/** The most bytes of UTF-8 that one skill's body takes in a description. */
export const BODY_BYTES = 16_384;
/** Above this a body is worth shortening. */
export const SOFT_BODY_BYTES = 4096;

const TRUNCATED = '\n\n[skill body truncated at 16 KB]';
const WHITE_SPACE = /\p{White_Space}/u;

/** Without Unicode white space at both ends. Unlike `trim`, a byte order mark is text and U+0085 is white space. */
export function trimWhiteSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && WHITE_SPACE.test(text.charAt(start))) start++;
  while (end > start && WHITE_SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/**
 * A trimmed body as injected: whole up to {@link BODY_BYTES}, else cut at a code point so that it and the marker behind
 * it stay within. `bytes` counts the whole body.
 */
export function capBody(body: string): { method: string; bytes: number } {
  const encoded = new TextEncoder().encode(body);
  const bytes = encoded.length;
  if (bytes <= BODY_BYTES) return { method: body, bytes };
  let end = BODY_BYTES - TRUNCATED.length;
  while (((encoded[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end--;
  return {
    method: new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoded.subarray(0, end)) + TRUNCATED,
    bytes,
  };
}
