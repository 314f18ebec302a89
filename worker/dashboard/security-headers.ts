/**
 * Headers of every page. Nothing but our own files runs or is shown, nobody frames a page, and no address of ours leaves
 * with a link (`same-origin`: under `no-referrer` a form would be sent with `Origin: null`). `formTarget` is an origin that
 * a form's answer may redirect to. There is no `cross-origin-opener-policy`: clients in web pages open the way through
 * sign-in and consent in a pop-up, which that would part from them for good.
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
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
}
