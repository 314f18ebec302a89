import {
  type CallToolResult,
  LOG_LEVEL_META_KEY,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { ClientRow } from '../../schema/clients.ts';
import { composeInstructions, isBareCall, prefixOverview } from '../../schema/riding/channels.ts';
import { StartError } from '../../schema/riding/diagnostic.ts';
import { paramHeaders } from '../../schema/riding/param-headers.ts';
import { getPrompt, listPrompts } from '../../schema/riding/prompts.ts';
import { sentence } from '../cli/failure.ts';
import type { Caller } from './caller.ts';
import { LEGACY, MODERN } from './era.ts';
import { callLoader } from './loader.ts';
import type { Project } from './project.ts';
import type { Reach } from './reach.ts';
import { type Asked, passOn } from './relay.ts';
import type { Report } from './report.ts';
import { bannerOf, keepRidden, type View } from './rider.ts';
import { Upstream } from './upstream.ts';
import { UpstreamGone } from './upstream-error.ts';
import { keepViews } from './views.ts';
import { watchSkills } from './watch.ts';

export interface SessionOptions {
  project: Project;
  reach: Reach;
  caller: Caller;
  /** The client as it last named itself. */
  client: () => ClientRow | null;
  version: string;
  said: (line: string) => void;
  log: (sentence: string) => void;
  report: Report;
  /** Aborts when nobody is there to be served any more, while the server is being started as well. */
  signal: AbortSignal;
}

export interface Session {
  readonly server: Server;
  /** The client listens to changes of these resources. */
  follow(uris: Iterable<string>): void;
  /** Ends the server behind as well. */
  close(): Promise<void>;
}

type Params = Record<string, unknown>;

const NO_CACHE = { ttlMs: 0, cacheScope: 'private' };

/**
 * Serves one client. Requests go to the server as they came, and its answers, notifications and own requests come back as
 * they are; only the lists of tools and prompts, the skills among the prompts, the loader, overview calls and the
 * instructions are ours.
 * @throws UpstreamGone
 */
export async function startSession(options: SessionOptions): Promise<Session> {
  const { project, reach, caller, client, version, said, log, report, signal } = options;
  const { manifest, name } = project;
  const modern = caller.era === 'modern';
  /** What the server sends before the client has finished its handshake. */
  let early: Asked[] | null = [];
  const ready = Promise.withResolvers<void>();
  let levelAsked = false;

  const upstream = new Upstream({ name, reach, caller, said, log, onNotification: heard, onRequest: wanted });
  signal.addEventListener('abort', () => void upstream.close(), { once: true });
  const ridden = keepRidden();
  const views = keepViews({ project, upstream, upstreamTools, report, tell, signal });
  let closing: Promise<void> | undefined;

  const greeting = await upstream.greet();
  const { capabilities } = greeting;
  const first = await firstLook();
  const sameRevision = modern === (greeting.version === MODERN);

  const server = new Server(
    {
      ...(greeting.info ?? { name, version }),
      ...(manifest.name !== null && { name: manifest.name }),
    },
    {
      capabilities: {
        ...capabilities,
        tools: { ...capabilities.tools, listChanged: true },
        prompts: { ...capabilities.prompts, listChanged: true },
      },
      instructions: composeInstructions({
        banner: bannerOf(first, project),
        upstream: greeting.instructions,
        operator: manifest.instructions,
      }),
      supportedProtocolVersions: modern
        ? [MODERN]
        : sameRevision
          ? [greeting.version]
          : [...new Set([caller.version ?? '', ...LEGACY])].filter((each) => LEGACY.includes(each)),
    },
  );
  server.removeRequestHandler('logging/setLevel');
  server.removeNotificationHandler('notifications/progress');
  server.fallbackRequestHandler = async (request, context) => {
    try {
      return await answer(request, context);
    } catch (error) {
      if (error instanceof ProtocolError || context.mcpReq.signal.aborted) throw error;
      if (!(error instanceof UpstreamGone)) {
        log(sentence(error));
        const words = `${name} could not answer this; the standard error of repertoire serve says why.`;
        throw new ProtocolError(ProtocolErrorCode.InternalError, words);
      }
      if (request.method === 'tools/call') {
        return { content: [{ type: 'text', text: error.message }], isError: true };
      }
      throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
    }
  };
  server.fallbackNotificationHandler = async (notification) => upstream.notify(notification);
  server.oninitialized = () => {
    ready.resolve();
    const waiting = early ?? [];
    early = null;
    for (const notification of waiting) tell(notification);
  };
  // Without a handshake, there is nothing that the client could have missed.
  if (modern) early = null;
  const watcher = watchSkills(project.watched, () => void views.look().catch(() => undefined));
  server.onclose = () => void close();
  return {
    server,
    follow(uris) {
      for (const uri of uris) upstream.follow(uri).catch(({ message }) => log(`${name}: ${message}`));
    },
    close,
  };

  /** What the manifest changes has to be there when we start; later it may come and go. */
  async function firstLook(): Promise<View> {
    try {
      const view = await views.look();
      const wrong = view.diagnostics.find(
        ({ code, tool }) =>
          code === 'unmatched-override' && manifest.tools.some((override) => override.tool === tool),
      );
      if (wrong) throw new StartError(`${project.path}: ${wrong.message}`);
      return view;
    } catch (error) {
      await upstream.close();
      throw error;
    }
  }

  function close(): Promise<void> {
    closing ??= (async () => {
      watcher.close();
      await upstream.close();
    })();
    return closing;
  }

  function answer(request: Asked, context: ServerContext): Promise<Result> {
    switch (request.method) {
      case 'tools/list':
        return listTools();
      case 'tools/call':
        return callTool(request, context);
      case 'prompts/list':
        return listAllPrompts();
      case 'prompts/get':
        return getOnePrompt(request, context);
      default:
        return forward(request, context);
    }
  }

  /** To the server, with what the newer revision keeps apart from the parameters. */
  async function forward(
    request: Asked,
    { mcpReq }: ServerContext,
    headers: Record<string, string> = {},
  ): Promise<Result> {
    const { envelope, inputResponses, signal } = mcpReq;
    const level = (envelope as Params | undefined)?.[LOG_LEVEL_META_KEY];
    if (typeof level === 'string' && !sameRevision) {
      levelAsked = true;
      await upstream.setLevel(level);
    }
    if (!modern || !sameRevision) return upstream.request(request, { signal, headers });
    levelAsked = true;
    const { method, params } = request;
    const state = mcpReq.requestState();
    return upstream.request(
      {
        method,
        params: {
          ...params,
          ...(inputResponses !== undefined && { inputResponses }),
          ...(state !== undefined && { requestState: state }),
          _meta: { ...(params?._meta as Params | undefined), ...(envelope as Params | undefined) },
        },
      },
      { signal, headers },
    );
  }

  async function listTools(): Promise<Result> {
    const { entries, rest } = await upstreamTools();
    const view = await views.look(entries);
    const { tools, diagnostics } = ridden(view, project, client());
    report('descriptions', diagnostics);
    return { ...rest, ...(modern && NO_CACHE), tools };
  }

  async function callTool(request: Asked, context: ServerContext): Promise<Result> {
    const { params } = request;
    const asked = params?.name;
    // What is no call that could be ours is the server's to refuse.
    if (typeof asked !== 'string') return forward(request, context);
    const last = views.latest();
    const known = last?.facts.tools.has(asked) ? last : await views.look();
    if (asked === known.loader) return callLoader((await views.look()).active, params?.arguments);
    const own = known.upstreamNames.get(asked);
    if (own === undefined && known.served.has(asked)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool named ${asked}.`);
    }
    const call = { method: 'tools/call', params: { ...params, name: own ?? asked } };
    try {
      const { inputSchema } = known.tools.find(({ name }) => name === asked) ?? {};
      const result = await forward(call, context, paramHeaders(inputSchema, params?.arguments));
      if (asked !== manifest.overviewTool || !isBareCall(params?.arguments as Params | undefined))
        return result;
      const banner = bannerOf(await views.look(), project);
      return prefixOverview(result as CallToolResult, { banner, prefix: manifest.overviewPrefix });
    } finally {
      views.changedBy({ own: own ?? asked, shown: asked }, known);
    }
  }

  async function listAllPrompts(): Promise<Result> {
    const { entries, rest, active } = await prompts();
    const taken = new Set(entries.map((prompt) => prompt.name));
    const skills = listPrompts(active).filter((prompt) => !taken.has(prompt.name));
    return { ...rest, ...(modern && NO_CACHE), prompts: [...entries, ...skills] };
  }

  /** The server's own prompts come first: what it serves passes through. */
  async function getOnePrompt(request: Asked, context: ServerContext): Promise<Result> {
    const asked = request.params?.name;
    if (typeof asked !== 'string') return forward(request, context);
    const { entries, active } = await prompts();
    if (entries.some((prompt) => prompt.name === asked)) return forward(request, context);
    const found = getPrompt(active, asked);
    if ('error' in found) throw new ProtocolError(found.error.code, found.error.message);
    return found;
  }

  /** The server's own, and the skills that are active: the ones that were, where the server is gone. */
  async function prompts(): Promise<{ entries: Prompt[]; rest: Result; active: View['active'] }> {
    try {
      const [own, { active }] = await Promise.all([upstreamPrompts(), views.look()]);
      return { ...own, active };
    } catch (error) {
      const last = views.latest();
      if (!(error instanceof UpstreamGone) || !last) throw error;
      return { entries: [], rest: {}, active: last.active };
    }
  }

  function upstreamTools() {
    return capabilities.tools ? upstream.list<Tool>('tools/list', 'tools') : { entries: [], rest: {} };
  }

  function upstreamPrompts() {
    return capabilities.prompts
      ? upstream.list<Prompt>('prompts/list', 'prompts')
      : { entries: [], rest: {} };
  }

  function heard(notification: Asked): void {
    if (notification.method === 'notifications/message' && modern && !levelAsked) return;
    if (notification.method === 'notifications/tools/list_changed') views.readAgain(notification);
    else tell(notification);
  }

  function tell(notification: Asked): void {
    if (early) {
      early.push(notification);
      return;
    }
    const { method, params } = notification;
    // What the client's revision does not have, or what it did not ask for, is not for it.
    server.notification({ method, ...(params && { params }) }).catch(() => undefined);
  }

  async function wanted(request: Asked, signal: AbortSignal): Promise<Result> {
    if (modern) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found');
    await ready.promise;
    return passOn(request, server, { signal });
  }
}
