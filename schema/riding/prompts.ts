import type { RidingSkill } from './skill.ts';

/** `prompts/list`: every active skill, by name in byte order. */
export declare function listPrompts(active: readonly RidingSkill[]): { name: string; description?: string }[];

/** `prompts/get`: the raw body as one user message; or a JSON-RPC error, the same for unknown and inactive names. */
export declare function getPrompt(
  active: readonly RidingSkill[],
  name: string,
):
  | { messages: [{ role: 'user'; content: { type: 'text'; text: string } }] }
  | { error: { code: -32602; message: string } };
