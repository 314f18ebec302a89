import { afterAll, beforeAll } from 'vitest';
import { startGateway, type TestGateway } from '../worker/gateway/harness.ts';
import { ridingContract } from './contract.ts';

let gateway: TestGateway;
let servers = 0;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

ridingContract({
  name: '/mcp/<server>',
  async open({ upstream, manifest, skills, client }) {
    const name = `s${++servers}`;
    await gateway.addServer(name, upstream, { manifest: JSON.stringify(manifest) });
    for (const [file, text] of Object.entries(skills)) {
      // What could not ride is refused when it is sent, where a directory would leave it out.
      await gateway.api('PUT', `/servers/${name}/skills/${file}`, { text });
    }
    return { client: await gateway.connect(`/mcp/${name}`, { name: client }), notices: null };
  },
});
