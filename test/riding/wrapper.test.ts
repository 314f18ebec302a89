import { serveHere } from '../agent/serve/harness.ts';
import { type Host, ridingContract } from './contract.ts';
import { modernContract } from './modern-contract.ts';

const host: Host = {
  name: 'repertoire serve',
  async open({ upstream, manifest, capabilities, ...setup }) {
    const served = await serveHere({
      ...setup,
      manifest: { url: upstream, ...manifest },
      ...(capabilities && { options: { capabilities } }),
    });
    return { client: served.client, notices: () => served.heard.map(({ method }) => method) };
  },
};

ridingContract(host);
modernContract(host);
