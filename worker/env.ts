import type { Doorbell } from './push/doorbell.ts';

/** Bindings and secrets of the Worker. Only `index.ts` reads them. */
export interface Env {
  /** At least 32 characters; keys the MACs that the registry hands out. */
  readonly SECRET_KEY?: string;
  /** The embedded libSQL server of `npm start`. Bound there only. */
  readonly LIBSQL?: Fetcher;
  /** Hosts elsewhere, straight from workerd. Bound on one machine only. */
  readonly NETWORK?: Fetcher;
  /** A libSQL database elsewhere, such as at Turso. */
  readonly DATABASE_URL?: string;
  readonly DATABASE_AUTH_TOKEN?: string;
  /** Sign-in at an OpenID Connect issuer of the deployer's choice: the first two together, the others as needed. */
  readonly OIDC_ISSUER?: string;
  readonly OIDC_CLIENT_ID?: string;
  readonly OIDC_CLIENT_SECRET?: string;
  readonly OIDC_NAME?: string;
  /** Sign-in by the Cloudflare Access application that stands before the pages: both or neither. */
  readonly ACCESS_TEAM_DOMAIN?: string;
  readonly ACCESS_AUD?: string;
  /** `1` lets MCP servers on the same machine be added: for development. */
  readonly LOOPBACK_SERVERS?: string;
  readonly DOORBELL: DurableObjectNamespace<Doorbell>;
}
