import type { Tool } from '@modelcontextprotocol/server';
import { modeBanner } from '../../schema/riding/channels.ts';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import { asksGraph } from '../../schema/riding/gate.ts';
import { evaluate, type Facts } from '../../schema/riding/gates.ts';
import type { Manifest } from '../../schema/riding/manifest.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';
import type { Context } from '../registry/context.ts';
import { type Listener, type Listing, toListing } from '../registry/listing.ts';
import { keepTools, type OpenedServer } from '../registry/riding-source.ts';
import { probeGraph } from './graph-probe.ts';
import { type Kept, keptOf } from './kept.ts';
import { type Resolved, resolveSkills } from './layers.ts';
import { LOADER, type ShownTools, shownTools } from './shown-tools.ts';
import { listUpstreamTools, type ToolList, usable } from './tool-list.ts';
import { type Target, Upstream } from './upstream.ts';
import { isDown } from './upstream-error.ts';

/** A list that takes longer is not waited for: the last good one stands in. */
export const LIST_DEADLINE_MS = 10_000;

/** When a server last listed its tools is for people to read, so a list that is the same costs no write each time. */
const LISTED_PRECISION_MS = 60_000;

/** The tools that a server lists now, or listed last. */
export interface Listed {
  readonly tools: readonly Tool[];
  readonly leftOut: readonly string[];
  /** When it listed them, milliseconds, where it does not answer now. */
  readonly staleSince: number | null;
}

/** What rides in one request. */
export interface Riding extends Resolved {
  readonly active: readonly RidingSkill[];
  readonly diagnostics: readonly Diagnostic[];
}

/** One server in one request: what is asked of it is asked once, however many messages want it. */
export class ServerSession {
  readonly ctx: Context;
  readonly server: OpenedServer;
  readonly manifest: Manifest;
  readonly upstream: Upstream;
  readonly kept: Kept;
  readonly #deadline: number;
  readonly #began: number;
  readonly #ahead: Promise<ToolList> | null;
  #listed: Promise<Listed> | null = null;
  #known: Promise<Listed> | null = null;

  constructor(
    ctx: Context,
    server: OpenedServer,
    {
      manifest,
      target,
      deadline = LIST_DEADLINE_MS,
      ahead = null,
    }: {
      manifest: Manifest;
      target: () => Promise<Target>;
      deadline?: number;
      /** Its tools, where they were asked for already. */
      ahead?: Promise<ToolList> | null;
    },
  ) {
    this.ctx = ctx;
    this.server = server;
    this.manifest = manifest;
    this.kept = keptOf(server);
    const { id: callerId } = ctx.actor;
    this.upstream = new Upstream({ name: server.name, target, kept: this.kept, callerId });
    this.#deadline = deadline;
    this.#began = ctx.now();
    this.#ahead = ahead;
  }

  /** When the server has to have answered what is no call of a tool. */
  deadline(): AbortSignal {
    return AbortSignal.timeout(this.#deadline);
  }

  /** Its tools, as it lists them now; else as it listed them last. @throws RegistryError `unavailable` without either */
  listed(): Promise<Listed> {
    this.#listed ??= this.#list();
    return this.#listed;
  }

  /** Its tools without asking it again, where it has ever been asked. */
  known(): Promise<Listed> {
    if (this.#listed) return this.#listed;
    const { tools } = this.server.source;
    if (!tools) return this.listed();
    this.#known ??= Promise.resolve({ ...usable(tools), staleSince: null });
    return this.#known;
  }

  /** Its tools as this caller may see them. */
  shown({ tools }: Pick<Listed, 'tools'>): ShownTools {
    const { readOnly } = this.ctx.actor;
    return shownTools(tools, this.manifest, { server: this.server.name, readOnly });
  }

  /** The skills that are active for these tools. Asks for the graph where one of them wants to know. */
  async riding(shown: ShownTools): Promise<Riding> {
    const { skills, diagnostics } = await this.skills(shown);
    const { extensions } = this.manifest;
    const facts = { tools: namesOf(shown), extensions, graph: await this.#graph(skills, shown) };
    const judged = evaluate(skills, facts);
    return { skills, active: judged.active, diagnostics: [...diagnostics, ...judged.diagnostics] };
  }

  /** Whether which of these are active hangs on the server's graph. */
  asksGraph(skills: readonly RidingSkill[]): boolean {
    return this.manifest.graph !== null && asksGraph(skills);
  }

  /** What a caller is told of the account's items; null where it was not read with the server. */
  listing(listener: Listener): Listing | null {
    const { listed } = this.server.source;
    return listed && toListing(this.ctx, listener, listed);
  }

  /** One skill per name, active or not. */
  skills(shown: ShownTools): Promise<Resolved> {
    const names = shown.tools.map(({ name }) => name);
    return resolveSkills(this.ctx, this.server, this.manifest, names);
  }

  async banner(shown: ShownTools): Promise<string> {
    const { skills } = await this.skills(shown);
    const { upstreamNames, served } = shown;
    const { graph } = this.manifest;
    return modeBanner({ graph, tools: namesOf(shown), upstreamNames, served, skills, loader: LOADER });
  }

  /** What gates on the graph go by; null where there are none. A server that gave no list just now is not waited for again. */
  async #graph(skills: readonly RidingSkill[], { served: tools }: ShownTools): Promise<Facts['graph']> {
    const { graph } = this.manifest;
    if (!graph || !asksGraph(skills)) return null;
    const listed = await this.#listed;
    if (listed && listed.staleSince !== null) return 'failed';
    const { now } = this.ctx;
    const left = Math.max(0, this.#began + this.#deadline - now());
    const defer = (work: Promise<unknown>) => this.ctx.defer(work);
    return probeGraph(this.upstream, this.kept, graph, { tools, now, left, defer });
  }

  async #list(): Promise<Listed> {
    const { name, toolsAt, source } = this.server;
    const { tools: last } = source;
    try {
      const listed = await (this.#ahead ??
        listUpstreamTools(this.upstream, { name, key: this.kept.key }, this.deadline()));
      const changed = JSON.stringify(listed.tools) !== JSON.stringify(last);
      if (changed || this.ctx.now() - (toolsAt ?? 0) >= LISTED_PRECISION_MS)
        this.ctx.defer(keepTools(this.ctx, this.server, [...listed.tools]));
      return { ...listed, staleSince: null };
    } catch (error) {
      if (!isDown(error) || !last) throw error;
      return { ...usable(last), staleSince: toolsAt };
    }
  }
}

function namesOf({ tools }: ShownTools): ReadonlySet<string> {
  return new Set([...tools.map(({ name }) => name), LOADER]);
}
