/** A skill file. */
export function skillFile(keys: Record<string, unknown>, body = 'Do it so.\n'): string {
  const lines = Object.entries(keys).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return `---\n${lines.join('\n')}\n---\n${body}`;
}
