import type { FileEntry } from './item.ts';

/** Lower-case hexadecimal SHA-256 of bytes or of UTF-8 text. */
export async function sha256(content: Uint8Array | string): Promise<string> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const hash = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * What an item's digest is the SHA-256 of: one line `path NUL x-or-dash NUL sha256 LF` per file, sorted by path in byte
 * order. `modes` false gives the form for file systems without an executable bit (Windows): every file counts as plain.
 */
export function digestInput(files: readonly Omit<FileEntry, 'size'>[], modes = true): string {
  return files
    .map((file) => `${file.path}\0${modes && file.executable ? 'x' : '-'}\0${file.digest}\n`)
    .sort(compareBytes)
    .join('');
}

/** SHA-256 over {@link digestInput}. */
export function itemDigest(files: readonly Omit<FileEntry, 'size'>[], modes = true): Promise<string> {
  return sha256(digestInput(files, modes));
}

/** Order of two strings by their UTF-8 bytes, which is the order of their code points. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // A surrogate stands for a code point above U+FFFF, which UTF-8 sorts after every other code unit.
    const xSurrogate = x >= 0xd800 && x <= 0xdfff;
    const ySurrogate = y >= 0xd800 && y <= 0xdfff;
    return xSurrogate === ySurrogate ? x - y : xSurrogate ? 1 : -1;
  }
  return a.length - b.length;
}
