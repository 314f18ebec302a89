import { describe, expect, test } from 'vitest';
import { ORIGIN, openTestApi } from '../api/harness.ts';

const RESOURCE_PATH = '/.well-known/oauth-protected-resource';
const SERVER_PATH = '/.well-known/oauth-authorization-server';
const HOST = 'https://registry.example';

describe('check 14: metadata', () => {
  test('of the resource is the same at both places', async () => {
    const { call } = await openTestApi();
    const { status, headers, text } = await call(`${HOST}${RESOURCE_PATH}/mcp`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(text).toMatchInlineSnapshot(
      `"{"resource":"https://registry.example/mcp","authorization_servers":["https://registry.example"],"scopes_supported":["skills:read","skills:write"],"bearer_methods_supported":["header"],"dpop_signing_alg_values_supported":["ES256"],"resource_name":"Repertoire"}"`,
    );
    expect((await call(`${HOST}${RESOURCE_PATH}`)).text).toBe(text);
  });

  test('of another server’s resource names that resource', async () => {
    const { call } = await openTestApi();
    const { json } = await call(`${HOST}${RESOURCE_PATH}/mcp/notes`);
    expect(json).toMatchObject({ resource: `${HOST}/mcp/notes`, authorization_servers: [HOST] });
    for (const path of ['/mcp/NOTES', '/mcp/a/b', '/api', '/mcp/'])
      expect([path, (await call(`${HOST}${RESOURCE_PATH}${path}`)).status]).toEqual([path, 404]);
  });

  test('of the server is the same at both places', async () => {
    const { call } = await openTestApi();
    const { status, headers, json, text } = await call(`${HOST}${SERVER_PATH}`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(text).toMatchInlineSnapshot(
      `"{"issuer":"https://registry.example","authorization_endpoint":"https://registry.example/authorize","token_endpoint":"https://registry.example/token","registration_endpoint":"https://registry.example/register","scopes_supported":["skills:read","skills:write"],"response_types_supported":["code"],"response_modes_supported":["query"],"grant_types_supported":["authorization_code","refresh_token"],"token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post","none"],"revocation_endpoint":"https://registry.example/revoke","code_challenge_methods_supported":["S256"],"authorization_response_iss_parameter_supported":true,"client_id_metadata_document_supported":true}"`,
    );
    expect(json.token_endpoint_auth_methods_supported).toContain('none');
    expect(json.client_id_metadata_document_supported).toBe(true);
    expect(json.issuer).toBe(HOST);
    for (const path of ['/mcp', '/mcp/notes'])
      expect((await call(`${HOST}${SERVER_PATH}${path}`)).text).toBe(text);
  });

  test('is found from the 401, by an absolute address', async () => {
    const { call } = await openTestApi();
    for (const path of ['/mcp', '/mcp/notes']) {
      const { headers } = await call(HOST + path, { method: 'POST', body: {} });
      const [, address = ''] =
        /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '') ?? [];
      expect(address).toBe(`${HOST}${RESOURCE_PATH}${path}`);
      const { json } = await call(address);
      expect(json.resource).toBe(HOST + path);
      expect((await call(json.authorization_servers[0] + SERVER_PATH)).json.issuer).toBe(HOST);
    }
  });

  test('on one’s own machine names localhost as the server, under whatever name it is asked', async () => {
    const { call } = await openTestApi();
    const { json } = await call(`http://127.0.0.1:8787${RESOURCE_PATH}/mcp`);
    expect(json).toMatchObject({ resource: 'http://127.0.0.1:8787/mcp', authorization_servers: [ORIGIN] });
    expect((await call(`http://127.0.0.1:8787${SERVER_PATH}`)).json.issuer).toBe(ORIGIN);
  });
});
