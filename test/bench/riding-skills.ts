/** Tools of server-everything that skills are about, whoever asks. */
const TOOLS = [
  'echo',
  'get-sum',
  'get-env',
  'get-tiny-image',
  'get-annotated-message',
  'get-resource-links',
  'get-resource-reference',
  'get-structured-content',
  'gzip-file-as-resource',
  'toggle-simulated-logging',
  'toggle-subscriber-updates',
  'trigger-long-running-operation',
] as const;

/** Bytes of a method, from the shortest to the longest that is usual. */
const BYTES = [1000, 4000] as const;
const LINE = 'One line of a method: what to pass to the tool, what comes back, and what to look at in it.\n';

/**
 * SKILL.md texts by name, all of which have to do with the server: each is about one tool, every fourth about three of
 * them, and every fifth is gated on a tool, half of which are not there. The same number gives the same texts.
 */
export function ridingSkills(count: number): Map<string, string> {
  return new Map(
    Array.from({ length: count }, (_, n) => {
      const name = `method-${n}`;
      return [name, skillText(name, n, count)];
    }),
  );
}

function skillText(name: string, n: number, count: number): string {
  const tools = Array.from({ length: n % 4 === 3 ? 3 : 1 }, (_, i) => TOOLS[(n + i * 5) % TOOLS.length]);
  const gate = n % 10 === 4 ? 'get-sum' : n % 10 === 9 ? 'not-there' : null;
  const [least, most] = BYTES;
  const bytes = least + Math.round(((most - least) * ((n * 7) % count)) / count);
  return [
    '---',
    `name: ${name}`,
    `description: "TRIGGER when the task is of kind ${n}, or near it. SKIP when another method says more about it."`,
    `references_tools: [${tools.join(', ')}]`,
    ...(gate === null ? [] : ['applies_when:', `  tool_registered: ${gate}`]),
    '---',
    `# Method ${n}`,
    '',
    LINE.repeat(Math.ceil(bytes / LINE.length)),
  ].join('\n');
}
