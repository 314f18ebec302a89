import { serveHere } from '../agent/serve/harness.ts';
import { ridingContract } from './contract.ts';

ridingContract({
  name: 'repertoire serve',
  async open({ upstream, manifest, skills, client }) {
    const served = await serveHere({ manifest: { url: upstream, ...manifest }, skills, client });
    return { client: served.client, notices: () => served.heard.map(({ method }) => method) };
  },
});
