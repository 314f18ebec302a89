import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { loadSkill } from '../../schema/riding/load.ts';
import { listPrompts } from '../../schema/riding/prompts.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';

const Input = z
  .strictObject({
    action: z
      .enum(['list', 'get'])
      .describe('"list" names every skill and when to use it; "get" gives the method of one.'),
    name: z.string().min(1).optional().describe('get: name of the skill.'),
    start: z
      .int()
      .nonnegative()
      .optional()
      .describe('get: where to go on, the next_start of the answer before.'),
  })
  .refine(({ action, name }) => action !== 'get' || name !== undefined, {
    path: ['name'],
    error: 'action "get" needs the name of the skill',
  });

/** Names for the tool that loads a method; the second where the server has a tool with the first. */
const NAMES = ['skills', 'repertoire_skills'];

const DEFINITION = {
  title: 'Skills for these tools',
  description:
    'Methods for the tools of this server. action="get" with a skill\'s name gives its method; go on with start=next_start. action="list" names every skill and when to use it.',
  inputSchema: z.toJSONSchema(Input, { io: 'input' }) as Tool['inputSchema'],
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  /** Claude Code defers MCP tools to their names alone unless told otherwise. */
  _meta: { 'anthropic/alwaysLoad': true },
};

/** The loader as it is offered beside these tools; null when both of its names are taken. */
export function loaderBeside(tools: readonly { name: string }[]): Tool | null {
  const name = NAMES.find((each) => !tools.some((tool) => tool.name === each));
  return name === undefined ? null : { name, ...DEFINITION };
}

/** Answers a call of the loader. @throws ProtocolError for arguments that do not fit */
export function callLoader(active: readonly RidingSkill[], args: unknown): CallToolResult {
  const parsed = Input.safeParse(args ?? {});
  if (!parsed.success) {
    const [{ path, message } = { path: [], message: '' }] = parsed.error.issues;
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `The arguments do not fit: ${[path.join('.'), message].filter(Boolean).join(': ')}.`,
    );
  }
  const { action, name, start } = parsed.data;
  if (action === 'list') {
    const skills = listPrompts(active);
    return text(JSON.stringify({ total: skills.length, skills }), false);
  }
  const page = loadSkill(active, name as string, start);
  return text(page.text, page.isError);
}

function text(value: string, isError: boolean): CallToolResult {
  return { content: [{ type: 'text', text: value }], ...(isError && { isError }) };
}
