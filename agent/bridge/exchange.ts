import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/client';
import { Problem, RegistryError } from '../../schema/errors.ts';
import type { Machine } from '../../schema/folders.ts';
import { Unpaired } from '../http.ts';
import { readDevice, type StateFiles } from '../state.ts';
import { callerReader } from './caller.ts';
import { readLastKnown } from './last-known.ts';
import { answerOffline } from './offline.ts';
import { refusal } from './refusal.ts';
import { type Answer, openRemote, type Remote, Unreachable } from './remote.ts';

export interface ExchangeDeps {
  files: StateFiles;
  machine: Machine;
  version: string;
  fetch: typeof fetch;
  /** Takes one sentence for the person. */
  log: (sentence: string) => void;
  timing?: Partial<Timing> | undefined;
}

/** How long to wait for the registry. Milliseconds. */
export interface Timing {
  read: number;
  write: number;
  /** After a wait in vain, reading is answered from this device at once for so long. */
  away: number;
}

// Clients give a server about ten seconds to start; some of them must be left for the answer from this device.
// For a tool they wait a minute.
const TIMING: Timing = { read: 6_000, write: 60_000, away: 15_000 };

const NOT_PAIRED =
  'This device is not paired with a registry; run "repertoire pair URL" with the URL of your registry.';
const NOT_SAVED =
  'Nothing was saved, because the registry cannot be reached; try again when the network is back.';
const UNKNOWN =
  'The connection broke off before the registry answered, so it is not known whether this was saved; read the item to see, before trying again.';

/**
 * The fetch of a client transport: gives every message that it posts an answer in the protocol, from the registry, from
 * this device's last known state, or as a refusal. Pairing is looked up each time, for it may come or go meanwhile.
 */
export function createExchange(deps: ExchangeDeps): typeof globalThis.fetch {
  const { files, machine, version, fetch, log } = deps;
  const timing = { ...TIMING, ...deps.timing };
  const readCaller = callerReader(machine.env);
  let remote: Remote | null = null;
  let awayUntil = 0;
  let said = '';

  /** Once per change: a client may ask many times. */
  function say(sentence: string): void {
    if (sentence !== said && (sentence !== '' || said !== '')) {
      log(sentence === '' ? 'The registry answers again.' : sentence);
    }
    said = sentence;
  }

  return async (input, init = {}) => {
    const request = JSON.parse(String(init.body)) as JSONRPCRequest;
    const caller = readCaller(request);
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(caller.headers)) headers.set(name, value);
    const signal = init.signal ?? new AbortController().signal;
    const writes = mayWrite(request);
    try {
      const message = { method: 'POST', headers, body: String(init.body) };
      const answer = await ask(await paired(), message, signal, writes);
      say('');
      return passOn(request, answer);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Unreachable && !writes) {
        say('The registry cannot be reached; answering from what this device knows.');
        return offline(new Request(input, { method: 'POST', headers, body: String(init.body) }), request);
      }
      if (error instanceof Unreachable) return respond(refusal(request, error.sent ? UNKNOWN : NOT_SAVED));
      return refuse(request, error);
    }

    async function offline(asked: Request, of: JSONRPCRequest): Promise<Response> {
      try {
        return await answerOffline(asked, { known: readLastKnown(files, machine), caller, version });
      } catch (error) {
        return refuse(of, error);
      }
    }
  };

  async function paired(): Promise<Remote> {
    const device = readDevice(files);
    if (remote?.device !== device?.device) remote = null;
    remote ??= device && (await openRemote(files, device, fetch));
    if (!remote) throw new RegistryError('unauthorized', NOT_PAIRED);
    return remote;
  }

  async function ask(
    to: Remote,
    message: RequestInit,
    signal: AbortSignal,
    writes: boolean,
  ): Promise<Answer> {
    if (writes) return judged(await to.post(message, { signal, waitMs: timing.write }));
    if (Date.now() < awayUntil) throw new Unreachable(false);
    const until = Date.now() + timing.read;
    for (let tries = 0; ; tries++) {
      try {
        return judged(await to.post(message, { signal, waitMs: Math.max(1, until - Date.now()) }));
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        const late = Date.now() >= until;
        if (late) awayUntil = Date.now() + timing.away;
        // A kept connection that the other side has closed shows only when it is used.
        if (late || !error.sent || tries > 0) throw error;
      }
    }
  }

  function refuse(request: JSONRPCRequest, error: unknown): Response {
    const sentence = error instanceof Error ? error.message : String(error);
    // A device that is paired again has another key.
    if (error instanceof Unpaired) remote = null;
    say(sentence);
    return respond(refusal(request, sentence));
  }
}

/** Everything that is not known to read only. */
function mayWrite({ method, params }: JSONRPCRequest): boolean {
  return method === 'tools/call' && params?.name !== 'skills';
}

/** @throws Unreachable when someone else answered, or the registry could not; RegistryError when it refused the request */
function judged(answer: Answer): Answer {
  const { type, status } = answer;
  if (status < 300 && type === 'text/event-stream') return answer;
  const value =
    type === 'application/json' || type === 'application/problem+json' ? parse(answer) : undefined;
  if (isMessage(value)) return answer;
  const problem = Problem.safeParse(value);
  if (!problem.success || problem.data.status >= 500) throw new Unreachable(true);
  throw new RegistryError(problem.data.code, problem.data.detail, problem.data.details);
}

function parse({ body }: Answer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is { jsonrpc: string; id?: unknown } {
  return typeof value === 'object' && value !== null && 'jsonrpc' in value;
}

/** The registry's answer. An error has its HTTP status for those who see only that; the transport takes it as a message. */
function passOn({ id }: JSONRPCRequest, answer: Answer): Response {
  const value = answer.status < 300 ? undefined : parse(answer);
  const body = isMessage(value) ? JSON.stringify({ ...value, id }) : answer.body;
  return new Response(body, { headers: { 'content-type': answer.type } });
}

function respond(message: JSONRPCMessage): Response {
  return Response.json(message);
}
