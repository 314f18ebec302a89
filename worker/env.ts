import type { Doorbell } from './push/doorbell.ts';

/** Bindings and secrets of the Worker. Only `index.ts` reads them. */
export interface Env {
  /** At least 32 characters; keys the MACs that the registry hands out. */
  readonly SECRET_KEY?: string;
  /** The embedded libSQL server of `npm start`. Bound there only. */
  readonly LIBSQL?: Fetcher;
  /** A libSQL database elsewhere, such as at Turso. */
  readonly DATABASE_URL?: string;
  readonly DATABASE_AUTH_TOKEN?: string;
  readonly DOORBELL: DurableObjectNamespace<Doorbell>;
}
