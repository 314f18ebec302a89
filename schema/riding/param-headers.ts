const MARK = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * The headers in which arguments are repeated to a server over HTTP, since revision 2026-07-28: those whose schema is marked
 * `x-mcp-header`. A client on a pipe, or of an older revision, sends none.
 */
export function paramHeaders(schema: unknown, args: unknown): Record<string, string> {
  if (!isRecord(schema) || !isRecord(schema.properties) || !isRecord(args)) return {};
  const headers: Record<string, string> = {};
  for (const [key, property] of Object.entries(schema.properties)) {
    if (!isRecord(property)) continue;
    const value = args[key];
    const name = property[MARK];
    if (typeof name === 'string' && TOKEN.test(name) && isPlain(value)) {
      headers[`Mcp-Param-${name}`] = encode(String(value));
    }
    Object.assign(headers, paramHeaders(property, value));
  }
  return headers;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
}

/** What a header cannot hold as it is goes in base64, marked. */
function encode(value: string): string {
  const marked = value.startsWith('=?base64?') && value.endsWith('?=');
  if (/^[\t\x20-\x7e]+$/.test(value) && value === value.trim() && !marked) return value;
  const bytes = new TextEncoder().encode(value);
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
}
