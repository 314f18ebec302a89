/** An error as OAuth clients read it (RFC 6749 section 5.2). */
export function oauthError(
  status: number,
  error: string,
  description: string,
  headers: Record<string, string> = {},
): Response {
  return Response.json(
    { error, error_description: description },
    { status, headers: { 'cache-control': 'no-store', pragma: 'no-cache', ...headers } },
  );
}
