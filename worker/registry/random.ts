/** A random identifier: 32 lower-case hexadecimal digits, so that full-text search takes it as one word. */
export function newId(): string {
  return crypto.randomUUID().replaceAll('-', '');
}

/** A random secret of 256 bits, base64url. */
export function newSecret(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
