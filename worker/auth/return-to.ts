/**
 * The address of this origin to which a browser goes on; null where `to` is none. It is made whole, since a path may be
 * read as another host: `/.//evil.example` is the path `//evil.example` once it is resolved.
 */
export function returnTo(to: string | undefined, origin: string): string | null {
  if (to === undefined || !URL.canParse(to, origin)) return null;
  const { href } = new URL(to, origin);
  return href.startsWith(`${origin}/`) ? href : null;
}
