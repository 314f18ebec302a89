import { startLocal } from '../../worker/local/serve.ts';
import { readOrder, serveParent } from './child.ts';
import { type Fill, fillAccounts } from './fill.ts';

export interface RegistryOrder {
  data: string;
  /** What runs in workerd in place of the Worker. */
  entry?: string;
  /** MCP servers on this machine may be added. */
  allowLoopback?: boolean;
  /** One account each. */
  accounts: Fill[];
}

export interface RegistryReady {
  url: string;
  /** API token of each account. */
  tokens: string[];
}

const { accounts, ...options } = readOrder<RegistryOrder>();
let tokens: string[] = [];
const local = await startLocal({
  ...options,
  port: 0,
  log: (line) => process.stderr.write(`${line}\n`),
  bootstrap: async (client) => {
    tokens = await fillAccounts(client, accounts);
  },
});
const ready: RegistryReady = { url: local.url, tokens };
serveParent(ready, async () => null, local.stop);
