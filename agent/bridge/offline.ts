import {
  type CallToolResult,
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { RegistryError } from '../../schema/errors.ts';
import { composeListing, listingCap, listsInTool } from '../../schema/listing.ts';
import {
  renderFile,
  renderGuidelines,
  renderHits,
  renderList,
  SkillsInput,
  skillsDescription,
  TOOLS,
} from '../../schema/tools.ts';
import type { Caller } from './caller.ts';
import type { LastKnown } from './last-known.ts';

/** Newest first, the registry's own. */
const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'];
const NO_CACHE = { ttlMs: 0, cacheScope: 'private' } as const;
const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills';
const CACHED = ['server/discover', 'tools/list', 'prompts/list'] as const;

/** Answers one request from what this device last heard, in the protocol revision that it asks for. */
export async function answerOffline(
  request: Request,
  { known, caller, version }: { known: LastKnown; caller: Caller; version: string },
): Promise<Response> {
  const handler = createMcpHandler(() => buildServer(known, caller, version), { keepAliveMs: 0 });
  const response = await handler.fetch(request);
  return new Response(await response.arrayBuffer(), response);
}

/** The registry's server as far as a device can stand in for it: capabilities are the same, for clients never ask again. */
function buildServer(known: LastKnown, caller: Caller, version: string): Server {
  const server = new Server(
    { name: 'repertoire', title: 'Repertoire', version },
    {
      instructions: instructions(known, caller),
      supportedProtocolVersions: REVISIONS,
      capabilities: {
        tools: { listChanged: false },
        prompts: { listChanged: false },
        resources: { listChanged: false },
        extensions: { [SKILLS_EXTENSION]: { directoryRead: true } },
      },
      cacheHints: Object.fromEntries(CACHED.map((method) => [method, NO_CACHE])),
    },
  );
  server.setRequestHandler('tools/list', () => ({ tools: tools(known, caller) }));
  server.setRequestHandler('prompts/list', () => ({ prompts: [] }));
  server.setRequestHandler('tools/call', ({ params }) => call(known, params.name, params.arguments ?? {}));
  server.fallbackRequestHandler = async ({ method }) => {
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      `The registry cannot be reached, and this device cannot answer ${method} itself; try again when the network is back.`,
    );
  };
  return server;
}

/** As short as can be: of some clients' instructions hardly 200 characters reach the model, and the pointer must be among them. */
function instructions(known: LastKnown, caller: Caller): string {
  const notice = `Registry unreachable; state of ${time(known)}.`;
  const listing = composeListing({
    items: known.fitted(caller),
    guidelines: known.guidelines,
    cap: listingCap(caller.client, 'instructions') - notice.length - 2,
    channel: 'instructions',
  });
  return listing === '' ? notice : `${notice}\n\n${listing}`;
}

function tools(known: LastKnown, caller: Caller): Tool[] {
  const { client } = caller;
  const description = listsInTool(client)
    ? skillsDescription({
        items: known.fitted(caller),
        guidelines: known.guidelines,
        cap: listingCap(client, 'tool-description'),
      })
    : TOOLS.skills.description;
  return [{ ...definition('skills'), description }, definition('skill_edit')];
}

function definition(name: keyof typeof TOOLS): Tool {
  const { inputSchema, ...tool } = TOOLS[name];
  return { name, ...tool, inputSchema: z.toJSONSchema(inputSchema, { io: 'input' }) as Tool['inputSchema'] };
}

function call(known: LastKnown, name: string, args: unknown): CallToolResult {
  if (name !== 'skills') {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool named ${name}.`);
  }
  try {
    return { content: [{ type: 'text', text: skills(known, args) }] };
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return { content: [{ type: 'text', text: error.message }], isError: true };
  }
}

function skills(known: LastKnown, args: unknown): string {
  const parsed = SkillsInput.safeParse(args);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) =>
      [path.join('.'), message].filter(Boolean).join(': '),
    );
    throw new RegistryError('invalid_input', `The arguments do not fit: ${problems.join('; ')}.`);
  }
  if (known.at === null) {
    throw new RegistryError(
      'unavailable',
      'The registry cannot be reached, and this device has never heard from it; try again when the network is back.',
    );
  }
  const input = parsed.data;
  const { kind, start } = input;
  const notice = `The registry cannot be reached. This is what this device knew at ${time(known)}; it may be outdated.`;
  switch (input.action) {
    case 'list':
      return renderList(
        known.items.filter((item) => item.kind === (kind ?? item.kind)),
        { start, notice },
      );
    case 'search':
      return renderHits(known.search(input.query ?? '', kind), { notice });
    case 'guidelines':
      return renderGuidelines(known.guidelines, { notice });
    case 'get': {
      const item = known.find(input.name ?? '', kind);
      return renderFile(item, known.file(item, input.path), { start, notice });
    }
  }
}

function time({ at }: LastKnown): string {
  return at === null ? 'nothing yet' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
