import { afterAll, beforeAll } from 'vitest';
import { startGateway, type TestGateway } from '../worker/gateway/harness.ts';
import { type Host, ridingContract } from './contract.ts';
import { modernContract } from './modern-contract.ts';

let gateway: TestGateway;
let servers = 0;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

const host: Host = {
  name: '/mcp/<server>',
  async open({ upstream, manifest, skills, client, era = 'modern', ...rest }) {
    const name = `s${++servers}`;
    await gateway.addServer(name, upstream, { manifest: JSON.stringify(manifest) });
    for (const [file, text] of Object.entries(skills)) {
      // What could not ride is refused when it is sent, where a directory would leave it out.
      await gateway.api('PUT', `/servers/${name}/skills/${file}`, { text });
    }
    const mode = era === 'modern' ? 'auto' : 'legacy';
    return { client: await gateway.connect(`/mcp/${name}`, { name: client, mode, ...rest }), notices: null };
  },
};

ridingContract(host);
modernContract(host);
