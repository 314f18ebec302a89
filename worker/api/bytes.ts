import { decodeText } from '../../schema/frontmatter.ts';

interface Stored {
  readonly digest: string;
  readonly bytes: Uint8Array;
  /** Path that the bytes have in their item; the last part names the download. */
  readonly name: string;
}

/**
 * Stored bytes as an answer. Whatever they are, no browser runs or shows them as a page: they are text or octets, a
 * download, and may load nothing.
 */
export function bytesAnswer(request: Request, { digest, bytes, name }: Stored): Response {
  const etag = `"${digest}"`;
  const headers = new Headers({ etag, 'cache-control': 'private, no-cache', vary: 'Authorization' });
  if (request.headers.get('if-none-match')?.includes(etag))
    return new Response(null, { status: 304, headers });
  headers.set(
    'content-type',
    decodeText(bytes) === null ? 'application/octet-stream' : 'text/plain; charset=utf-8',
  );
  headers.set('content-disposition', `attachment; filename*=UTF-8''${encoded(name)}`);
  headers.set('content-security-policy', "default-src 'none'; sandbox");
  return new Response(bytes as Uint8Array<ArrayBuffer>, { headers });
}

/** `ext-value` of RFC 8187. */
function encoded(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toWellFormed();
  return encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
}
