/**
 * Headers of every page. Nothing but our own files runs or is shown, nobody frames a page, and no address of ours leaves
 * with a link (`same-origin`: under `no-referrer` a form would be sent with `Origin: null`). `formTarget` is an origin that
 * a form's answer may redirect to.
 */
export function pageHeaders({ formTarget }: { formTarget?: string } = {}): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      `form-action 'self'${formTarget === undefined ? '' : ` ${formTarget}`}`,
      "require-trusted-types-for 'script'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
}
