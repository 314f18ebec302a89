import type { Client, Implementation, ServerCapabilities } from '@modelcontextprotocol/client';
import type { Kept } from './kept.ts';
import { Shelf } from './shelf.ts';

/** What is known of a server once it was spoken to. */
export interface Facts {
  readonly capabilities: ServerCapabilities;
  readonly serverInfo: Implementation | undefined;
  readonly instructions: string | undefined;
  readonly era: Era;
}

/** How a server is spoken to. */
export interface Era {
  /** Whether it is of the era without sessions, which began with revision 2026-07-28. */
  readonly modern: boolean;
  readonly version: string;
  /** Of a server that keeps one, which its state hangs on. */
  readonly session: string | undefined;
}

/** What a finished handshake told. */
export function factsOf(client: Client, sessionId: string | undefined): Facts {
  const modern = client.getDiscoverResult() !== undefined;
  return {
    capabilities: client.getServerCapabilities() ?? {},
    serverInfo: client.getServerVersion(),
    instructions: client.getInstructions(),
    era: {
      modern,
      version: client.getNegotiatedProtocolVersion() ?? '',
      session: modern ? undefined : sessionId,
    },
  };
}

export function sameEra({ era: a }: Facts, { era: b }: Facts): boolean {
  return a.modern === b.modern && a.version === b.version && a.session === b.session;
}

const facts = new Shelf<Facts>('facts');

/** What a caller's handshake with a server told: what one does in a session of the server is nothing to another. */
export class KeptFacts {
  readonly #key: string;

  constructor({ key }: Kept, callerId: string) {
    this.#key = `${key} ${callerId}`;
  }

  get(): Facts | undefined {
    return facts.get(this.#key);
  }

  set(told: Facts, chars: number): void {
    facts.set(this.#key, told, chars);
  }

  /** Lets go what is not so any more. */
  drop(told: Facts): void {
    if (this.get() === told) facts.delete(this.#key);
  }
}
