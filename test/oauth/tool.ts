import type { Client } from '@modelcontextprotocol/client';

/** Text of a tool's answer. @throws Error with it, where it is a refusal */
export async function useTool(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  if (isError) throw new Error(text);
  return text;
}

/** Arguments of `skill_edit` that make a skill. */
export const DEPLOY = {
  action: 'create',
  name: 'deploy',
  description: 'Ships it.',
  instructions: 'Ship on Mondays.',
} as const;

/** Arguments of `skills` that read it. */
export const READ_DEPLOY = { action: 'get', name: 'deploy' } as const;
