import { dirname, isAbsolute, relative } from 'node:path';
import type { Command } from 'commander';
import { CLIENTS, type ClientRow, recogniseClient } from '../../schema/clients.ts';
import { StartError } from '../../schema/riding/diagnostic.ts';
import { findClient as findConnected } from '../connect/target.ts';
import type { Explanation } from '../serve/explain.ts';
import { lineOf } from '../serve/report.ts';
import { readDevice } from '../state.ts';
import { VERSION } from '../version.ts';
import { type Cli, command, examples, withJson } from './cli.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { counted, wrap } from './text.ts';

interface ServeFlags {
  explain?: true;
  client?: string;
  json?: true;
}

const ABOUT = `
The manifest names an MCP server, as a command or a URL, and the skills that
ride on its tools:

  name: notes
  command: npx
  args: [-y, "@modelcontextprotocol/server-memory"]
  graph: memory
  skills: true           # files in notes.skills/ beside notes.yaml

Everything else of the server passes through unchanged. It ends when the client
closes the input. When it ends by itself, calls that were under way fail, and
the next request starts it again. Problems are told on the standard error, a
line each. The README says what else a manifest may hold.`;

/** `serve`: an MCP server with skills riding on its tools. */
export function addServeCommand(program: Command, cli: Cli): void {
  const serve = withJson(command(program, 'serve', 'serve an MCP server with skills riding on its tools'))
    .argument('<manifest>', 'YAML file that names the server and its skills')
    .option('--explain', 'say what would ride on what, and why, and end')
    .option('--client <name>', 'with --explain: what this client gets, such as claude-code')
    .action((manifest: string, flags: ServeFlags) =>
      flags.explain ? explainManifest(cli, manifest, flags) : serveManifest(cli, manifest, flags),
    );
  serve.addHelpText('after', ABOUT);
  examples(serve, 'serve notes.yaml', 'serve notes.yaml --explain --client claude-code');
}

async function serveManifest(cli: Cli, manifest: string, { client, json }: ServeFlags): Promise<void> {
  if (client !== undefined || json) throw new WrongUsage('--client and --json belong to --explain.');
  const { environment } = cli;
  const { runServe } = await import('../serve/serve.ts');
  const { env, cwd, stdin, stdout, stderr } = environment;
  const signal = environment.onStop();
  await runServe({
    manifest,
    cwd,
    env,
    stdin,
    stdout,
    stderr,
    version: VERSION,
    state: pairedState(cli),
    signal,
  });
}

async function explainManifest(cli: Cli, manifest: string, { client, json }: ServeFlags): Promise<void> {
  const { output } = cli;
  const row = client === undefined ? null : findClient(client);
  const { explain } = await import('../serve/explain.ts');
  const explanation = await explain({ ...(await openServer(cli, manifest)), client: row });
  if (explanation.diagnostics.some(({ severity }) => severity === 'error')) cli.failed = true;
  if (json) return output.json(explanation);
  show(cli, explanation);
}

/** A manifest's server, ready to be started for one look. */
export async function openServer(cli: Cli, manifest: string) {
  const { environment, output } = cli;
  const { openProject } = await import('../serve/project.ts');
  const { reachServer } = await import('../serve/reach.ts');
  const { env, cwd } = environment;
  const project = openProject(manifest, { cwd, env, state: pairedState(cli) });
  const { path, directory, name } = project;
  const { upstream } = project.manifest;
  if (!upstream) throw new StartError(`${path} names no server; give it a command or a url.`);
  return {
    project,
    reach: reachServer(upstream, { manifest: path, directory, env }),
    version: VERSION,
    said: (line: string) => output.note(`${name}: ${line}`),
    log: (sentence: string) => output.note(sentence),
  };
}

/** The registry's skills ride too, but only while this device belongs to it. */
function pairedState({ state }: Cli) {
  return readDevice(state) ? state : null;
}

function findClient(name: string): ClientRow {
  const known = findConnected(name) ?? name;
  const found = CLIENTS.find(({ id }) => id === known) ?? recogniseClient({ name });
  if (found) return found;
  throw new CommandFailed(
    `No client named ${name} is known; it is one of ${CLIENTS.map(({ id }) => id).join(', ')}.`,
  );
}

function show({ output }: Cli, { layers, skills, facts, tools, ...rest }: Explanation): void {
  const { style } = output;
  const near = nearby(dirname(rest.manifest));
  const listed = (title: string, text: string) => output.line(wrap(`${title}: ${text}`, output.width, '  '));
  output.line(`${style.bold(rest.name)}  ${style.dim(rest.manifest)}`);
  output.line();
  if (rest.riding) {
    output.table(
      [{ title: 'Layer' }, { title: 'Skills', align: 'right' }, { title: 'From' }],
      layers.map(({ kind, label, skills }) => [kind, String(skills.length), near(label)]),
    );
    output.line();
    output.table(
      [{ title: 'Skill' }, { title: 'State' }, { title: 'Layer' }, { title: 'From' }],
      skills.map(({ name, state, layer, source }) => [name, state, layer, near(source)]),
    );
  } else output.line('Skills are off; write `skills: true` in the manifest to let them ride.');
  for (const { name, masks } of skills) {
    if (masks.length > 0) output.line(`${name} masks ${masks.map(near).join(', ')}`);
  }
  const gated = skills.filter(({ gate }) => gate.length > 0);
  if (gated.length > 0) output.line(`\n${style.bold('Gates')}`);
  for (const { name, gate, failed } of gated) {
    output.line(name);
    for (const clause of gate) output.line(`  ${failed.includes(clause) ? 'no ' : 'yes'}  ${clause}`);
  }
  output.line();
  listed('Tools', facts.tools.join(', ') || 'none');
  listed('Extensions', facts.extensions.join(', ') || 'none');
  listed('Graph', typeof facts.graph === 'string' ? facts.graph : labels(facts.graph));
  const cap = rest.cap === null ? 'no known cap' : `cap ${counted(rest.cap, 'character')}`;
  output.line(`Client: ${rest.client ?? 'any other'}, ${cap}`);
  for (const { name, description, length, ride } of tools) {
    output.line();
    const form = ride
      ? `${ride.form}, ${ride.skills.map((skill) => skill.name).join(', ')}`
      : 'nothing rides';
    const of = rest.cap === null ? counted(length, 'character') : `${length} of ${rest.cap} characters`;
    output.line(`${style.bold(name)}  ${style.dim(`${of}; ${form}`)}`);
    if (ride) for (const line of description.split('\n')) output.line(`  ${line}`.trimEnd());
  }
  if (rest.diagnostics.length > 0) output.line();
  for (const diagnostic of rest.diagnostics) {
    if (diagnostic.severity !== 'debug') output.line(lineOf(diagnostic));
  }
}

/** A path inside the manifest's directory as seen from there; anything else as it is. */
function nearby(directory: string): (path: string) => string {
  return (path) => {
    const inside = isAbsolute(path) ? relative(directory, path) : '';
    return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? path : inside;
  };
}

function labels(graph: Record<string, string[]>): string {
  const each = Object.entries(graph).map(([label, properties]) =>
    properties.length > 0 ? `${label} (${properties.join(', ')})` : label,
  );
  return each.join(', ') || 'empty';
}
