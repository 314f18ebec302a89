// biome-ignore-all lint/suspicious/noTemplateCurlyInString: manifests hold placeholders
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { skillFile } from '../../riding/skill-file.ts';
import { folder, MAIN, NODE, run, serve, serveHere, writeProject } from './harness.ts';

const FRAGILE = fileURLToPath(new URL('fragile.ts', import.meta.url));
const HOSTILE = fileURLToPath(new URL('hostile.ts', import.meta.url));
const manifest = { name: 'fragile', command: NODE, args: [FRAGILE], skills: true };

interface Facts {
  pid: number;
  level: string;
  cwd: string;
  argv: string[];
  env: Record<string, string>;
}

async function facts(client: Client): Promise<Facts> {
  const { content } = await client.callTool({ name: 'facts', arguments: {} });
  return JSON.parse((content as { text: string }[])[0]?.text ?? '');
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** `repertoire serve` as a process, asked to begin. */
function begin({ path, directory }: { path: string; directory: string }) {
  const child = spawn(NODE, [MAIN, 'serve', path], {
    env: { HOME: directory, REPERTOIRE_STATE: join(directory, 'state') },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  return { child, said: () => said };
}

describe('the server behind', () => {
  test('ends when the client closes the input', async () => {
    const { client, pid } = await serve({ manifest });
    const { pid: behind } = await facts(client);
    expect(lives(behind)).toBe(true);
    await client.close();
    await vi.waitFor(() => expect([lives(behind), lives(pid)]).toEqual([false, false]), 60_000);
  });

  test('ends when we are asked to end, with exit code 0', async () => {
    const { path } = writeProject({ manifest });
    const home = folder();
    const child = spawn(NODE, [MAIN, 'serve', path], {
      env: { HOME: home, REPERTOIRE_STATE: join(home, 'state') },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    await once(child.stdout, 'data');
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'facts' } };
    child.stdin.write(`${JSON.stringify(call)}\n`);
    const [line] = await once(child.stdout, 'data');
    const behind = JSON.parse(JSON.parse(String(line)).result.content[0].text).pid;
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    await vi.waitFor(() => expect(lives(behind)).toBe(false), 60_000);
  });

  test('that dies in a call makes a clear error of it, and is started again by the next request', async () => {
    const { client, said } = await serveHere({ manifest });
    await client.setLoggingLevel('error');
    const before = await facts(client);
    const waiting = client.callTool({ name: 'wait', arguments: {} });
    const died = await client.callTool({ name: 'die', arguments: {} });
    const sentence =
      'fragile ended before it answered, so it is not known whether this was done; the next request starts it again.';
    expect(died).toMatchObject({ isError: true, content: [{ type: 'text', text: sentence }] });
    expect(await waiting).toMatchObject({ isError: true });
    const after = await facts(client);
    expect(after.pid).not.toBe(before.pid);
    // What the session had been told is told again.
    expect([before.level, after.level]).toEqual(['error', 'error']);
    expect(said()).toContain('repertoire: fragile has ended; the next request starts it again.\n');
  });

  test('that cannot be started again leaves the skills among the prompts', async () => {
    const directory = folder();
    const program = join(directory, 'program.ts');
    symlinkSync(FRAGILE, program);
    const skills = { 'facts.md': skillFile({ name: 'facts', description: 'Of facts.' }, 'Look twice.') };
    const { client } = await serveHere({ directory, manifest: { ...manifest, args: [program] }, skills });
    const before = await client.listPrompts();
    expect(before.prompts.map(({ name }) => name)).toContain('facts');
    rmSync(program);
    await client.callTool({ name: 'die', arguments: {} });
    expect(await client.listPrompts()).toEqual(before);
    expect(JSON.stringify(await client.getPrompt({ name: 'facts' }))).toContain('Look twice.');
  });

  test('says what it says to people on our standard error, marked', async () => {
    const { said } = await serveHere({ manifest });
    await vi.waitFor(() => expect(said()).toContain('fragile: a word to the person\n'));
  });

  test('may say a line without an end: its beginning is said, and nothing is kept', async () => {
    const flood = 'process.stderr.write("x".repeat(1e6) + "\\nlast"); process.stderr.end();';
    const { path, directory } = writeProject({
      manifest: { name: 'loud', command: NODE, args: ['-e', flood] },
    });
    const { stderr } = await run(['serve', path, '--explain'], { cwd: directory });
    expect(stderr).toContain(`loud: ${'x'.repeat(4000)}\nloud: last\n`);
    expect(stderr).toContain('ended before it answered.\n');
  });

  test('gets the environment of the manifest, and nothing that lies around (bug 16)', async () => {
    const directory = folder();
    const { client } = await serveHere({
      directory,
      manifest: {
        ...manifest,
        args: [FRAGILE, '${SECRET}'],
        env: { TOKEN: 'a-${SECRET}-b', PLAIN: '$SECRET' },
        cwd: '.',
      },
      env: { SECRET: 'of the person', GITHUB_TOKEN: 'ambient' },
    });
    const { env, cwd, argv } = await facts(client);
    expect(env.TOKEN).toBe('a-of the person-b');
    expect(env.PLAIN).toBe('$SECRET');
    expect(env.GITHUB_TOKEN).toBeUndefined();
    expect(env.SECRET).toBeUndefined();
    expect(argv).toEqual(['${SECRET}']);
    expect(cwd.endsWith(directory)).toBe(true);
  });

  test('with a tool of the name of the loader keeps it, and the loader has another', async () => {
    const { client } = await serveHere({
      manifest: { ...manifest, args: [FRAGILE, 'skills'], skills_delivery: 'lazy' },
      skills: { 'm.md': '---\nname: facts\n---\nBody.\n' },
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['skills', 'die', 'facts', 'wait', 'repertoire_skills']);
    expect(tools.find(({ name }) => name === 'facts')?.description).toContain(
      'call `repertoire_skills` with',
    );
    // Our own skills are about our own tool.
    expect(tools.find(({ name }) => name === 'skills')?.description).toBeUndefined();
    const own = await client.callTool({ name: 'skills', arguments: { action: 'get', name: 'facts' } });
    expect(JSON.stringify(own)).toContain('pid');
    const ours = await client.callTool({
      name: 'repertoire_skills',
      arguments: { action: 'get', name: 'facts' },
    });
    expect(JSON.stringify(ours)).toContain('Body.');
  });

  test('whose list never ends is cut off, and the person is told', async () => {
    const { client, said } = await serveHere({ manifest: { ...manifest, args: [FRAGILE, 'endless'] } });
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(3);
    expect(said()).toMatch(/repertoire: fragile: the answer to tools\/list goes on and on/);
  });
});

describe('a hostile server', () => {
  const hostile = (mode: string) => ({ name: 'h', command: NODE, args: [HOSTILE, mode], skills: true });
  const skills = { 'a.md': skillFile({ name: 'a', description: 'When.' }) };
  const RODE = 'base\n\n<!-- mcp-skill:a -->\n\n## When to use\n\nWhen.\n\n## Methodology\n\nDo it so.';

  test('whose list holds what is no tool costs nobody the others', async () => {
    const { client, said } = await serveHere({ manifest: hostile('wrong-entries'), skills });
    const { tools } = await client.listTools();
    expect(tools.map(({ name, description }) => ({ name, description })).slice(0, 4)).toEqual([
      { name: 'number', description: undefined },
      { name: 'null', description: undefined },
      { name: 'a', description: RODE },
      { name: '__proto__', description: 'base' },
    ]);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name).slice(0, 2)).toEqual(['fine', 'a']);
    expect(said()).toContain(
      'repertoire: h: an entry without a name in the answer to tools/list is left out.\n',
    );
  });

  test.each(['null-cursor', 'same-cursor'])(
    'that answers with a %s is asked no more than it takes',
    async (mode) => {
      const { client } = await serveHere({ manifest: hostile(mode), skills });
      const before = await client.callTool({ name: 'asked', arguments: {} });
      const { tools } = await client.listTools();
      expect(tools.find(({ name }) => name === 'a')?.description).toBe(RODE);
      const after = await client.callTool({ name: 'asked', arguments: {} });
      const asked = (answer: unknown) => Number((answer as { content: { text: string }[] }).content[0]?.text);
      expect(asked(after) - asked(before)).toBeLessThanOrEqual(2);
    },
  );

  test('with 150,000 tools shows the first of them, and says so', async () => {
    const { client, said } = await serveHere({ manifest: hostile('huge') });
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(10_001);
    expect(said()).toContain('what comes after its first 10000 entries is left out.');
  });

  test('that says 2,000 times that its tools have changed is asked a few times', async () => {
    const { client, heard } = await serveHere({ manifest: hostile('flood') });
    await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0), 60_000);
    const answer = await client.callTool({ name: 'asked', arguments: {} });
    expect(Number((answer.content as { text: string }[])[0]?.text)).toBeLessThan(100);
    expect(heard.length).toBeLessThan(100);
  });

  test('that answers an overview call with no list of contents has its answer passed on', async () => {
    const manifest = { ...hostile('wrong-entries'), overview_tool: 'a' };
    const { client } = await serveHere({ manifest, skills });
    const answer = client.callTool({ name: 'a', arguments: {} });
    await expect(answer).rejects.toThrow(/content/);
  });

  test.each(['SIGTERM', 'end of input'])('that never answers is left at once: %s', async (how) => {
    const { child, said } = begin(writeProject({ manifest: hostile('mute') }));
    await vi.waitFor(() => expect(said()).toMatch(/pid \d+/), 60_000);
    const behind = Number(/pid (\d+)/.exec(said())?.[1]);
    if (how === 'SIGTERM') child.kill('SIGTERM');
    else child.stdin.end();
    const [code] = await once(child, 'exit');
    expect([code, lives(behind)]).toEqual([0, false]);
    expect(said()).toBe(`h: pid ${behind}\n`);
  });

  test('and its words can neither move a cursor nor be told twice when it cannot be started', async () => {
    const { child, said } = begin(writeProject({ manifest: hostile('escape') }));
    expect((await once(child, 'close'))[0]).toBe(1);
    const sentence = `h (${NODE}) cannot be reached: it ended before it answered.`;
    expect(said()).toBe(`h: <U+001B>[2Jred\n${sentence}\n`);
  });
});

describe('a server that cannot be started', () => {
  test('is a sentence for the client and for the person, and exit code 1', async () => {
    const missing = { name: 'gone', command: 'no-such-program-anywhere' };
    const failed = serve({ manifest: missing });
    await expect(failed).rejects.toThrow(
      'gone (no-such-program-anywhere) cannot be reached: there is no such program.',
    );
    await expect(serveHere({ manifest: missing })).rejects.toThrow('there is no such program');
  });

  test('by a variable that is not set names it, and no value of another', async () => {
    const env = { A: '${PRESENT}${ABSENT}' };
    const started = serveHere({ manifest: { ...manifest, env }, env: { PRESENT: 'hush' } });
    await expect(started).rejects.toThrow(/server\.yaml: env\.A asks for the environment variable ABSENT/);
    await expect(started).rejects.not.toThrow('hush');
  });

  test.each(['hush\nX: y', 'hush\u20ac'])(
    'by a header that cannot be sent names it, and not its value',
    async (KEY) => {
      const headers = { Authorization: 'Bearer ${KEY}' };
      const started = serveHere({ manifest: { url: 'http://127.0.0.1:9/mcp', headers }, env: { KEY } });
      await expect(started).rejects.toThrow(
        'headers.Authorization holds a line break or another sign that no header can carry',
      );
      await expect(started).rejects.not.toThrow('hush');
    },
  );

  test.each([
    [
      { url: 'http://127.0.0.1:9/mcp', headers: { 'Not a name': 'x' } },
      /"Not a name", which is no name of a header/,
    ],
    [{ ...manifest, cwd: 'none' }, /server\.yaml: cwd names "none", and .*none is no directory/],
    [{ ...manifest, colour: 1 }, /`colour`.*`command`/],
    [{ skills: true }, /names no server; give it a command or a url/],
    [{ ...manifest, url: 'http://127.0.0.1:1/mcp' }, /`command`.*`url`|`url`.*`command`/],
    [{ ...manifest, skills: [''] }, /skills\[0\]/],
    [{ ...manifest, skills_delivery: 'later' }, /skills_delivery/],
    [{ ...manifest, tools: [{ bundled: 'nothing', rename: 'x' }] }, /nothing/],
  ])('for %j', async (wrong, sentence) => {
    await expect(serveHere({ manifest: wrong })).rejects.toThrow(sentence);
  });

  test.each(['none', 'file'])(
    '2.2, bug 14: by a declared path that is %s names it as written, where it leads, and the manifest',
    async (raw) => {
      const directory = folder();
      writeFileSync(join(directory, 'file'), '');
      await expect(serveHere({ directory, manifest: { ...manifest, skills: [true, raw] } })).rejects.toThrow(
        `${join(directory, 'server.yaml')}: skills[1] names "${raw}", and ${join(directory, raw)} is no directory`,
      );
    },
  );
});

test('headers of the manifest reach its own server, and no other origin that it points to', async () => {
  const seen: { to: string; authorization: string | undefined }[] = [];
  const listen = async (answer: (to: string) => { status: number; headers?: Record<string, string> }) => {
    const server = createServer((request, response) => {
      const to = String(request.headers.host);
      seen.push({ to, authorization: request.headers.authorization });
      const { status, headers } = answer(to);
      response.writeHead(status, headers).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const other = await listen(() => ({ status: 500 }));
  const own = await listen(() => ({ status: 307, headers: { location: `http://${other}/mcp` } }));
  const started = serveHere({
    manifest: { name: 'far', url: `http://${own}/mcp`, headers: { Authorization: 'Bearer ${KEY}' } },
    env: { KEY: 'k-1' },
  });
  await expect(started).rejects.toThrow(/^far \(http:\/\/127\.0\.0\.1:\d+\/mcp\) cannot be reached/);
  await expect(started).rejects.not.toThrow('k-1');
  expect(seen.filter(({ to }) => to === own).map(({ authorization }) => authorization)).toContain(
    'Bearer k-1',
  );
  expect(seen.filter(({ to, authorization }) => to === other && authorization !== undefined)).toEqual([]);
});
