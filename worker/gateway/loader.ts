import type { CallToolResult } from '@modelcontextprotocol/server';
import { RegistryError } from '../../schema/errors.ts';
import { loadSkill } from '../../schema/riding/load.ts';
import { SkillsInput } from '../../schema/tools.ts';
import { refusalOf } from '../log.ts';
import { refusedCall } from '../mcp/errors.ts';
import { skills } from '../mcp/skills.ts';
import { parseArguments } from '../mcp/skills-tool.ts';
import type { GatewayRequest } from './request.ts';

/**
 * The tool `skills` on a server's address: first what rides here, by the gates of this very moment, then the account's
 * items. A skill that would ride here but is not active is as good as none.
 */
export async function callSkills({ session }: GatewayRequest, args: unknown): Promise<CallToolResult> {
  try {
    const input = parseArguments(SkillsInput, args);
    const riding = ridingName(input);
    if (riding === null) return text(await skills(session.ctx, input));
    const here = await session.riding(session.shown(await session.known()));
    if (here.skills.some(({ name }) => name === riding))
      return loaded(loadSkill(here.active, riding, input.start));
    try {
      return text(await skills(session.ctx, input));
    } catch (error) {
      if (!(error instanceof RegistryError) || error.code !== 'not_found') throw error;
      return loaded(loadSkill(here.active, riding, input.start));
    }
  } catch (error) {
    return refusedCall(refusalOf(error).message);
  }
}

/** The name of what may ride: a skill's method, not another file of it. */
function ridingName({ action, kind, name, path }: SkillsInput): string | null {
  return action === 'get' && kind !== 'persona' && path === undefined ? (name ?? null) : null;
}

function loaded({ text: content, isError }: { text: string; isError: boolean }): CallToolResult {
  return { ...text(content), ...(isError ? { isError } : {}) };
}

function text(content: string): CallToolResult {
  return { content: [{ type: 'text', text: content }] };
}
