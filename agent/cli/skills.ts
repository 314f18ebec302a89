import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import type { RidingTool } from '../../schema/riding/compose.ts';
import type { Checked } from '../serve/check.ts';
import { lineOf } from '../serve/report.ts';
import { type Cli, command, examples, withJson } from './cli.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { openServer } from './serve.ts';
import { byteSize, counted } from './text.ts';

interface CheckFlags {
  tools?: string;
  manifest?: string;
  strict?: true;
  json?: true;
}

/** `skills check` and `skills new`: files that ride on tools. */
export function addSkillsCommand(program: Command, cli: Cli): void {
  const skills = command(program, 'skills', 'check and make the files that ride on tools').helpCommand(false);
  examples(skills, 'skills check notes.skills', 'skills new find_papers');
  const check = withJson(command(skills, 'check', 'say what is wrong with skill files, and what rides where'))
    .argument('<path...>', 'skill files, and directories of them')
    .option('--tools <file>', "JSON with a server's tools, as tools/list answers")
    .option('--manifest <file>', 'ask the server of this manifest for its tools')
    .option('--strict', 'warnings fail as errors do')
    .action((paths: string[], flags: CheckFlags) => checkPaths(cli, paths, flags));
  examples(
    check,
    'skills check notes.skills',
    'skills check notes.skills --manifest notes.yaml --strict',
    'skills check find_papers.md --tools tools.json --json',
  );

  const make = command(skills, 'new', 'write a skill file to start from')
    .argument('<name>', 'name of the tool that it rides on, or of its topic', parseName)
    .option('--dir <folder>', 'where to write it', '.')
    .action((name: string, { dir }: { dir: string }) => writeTemplate(cli, name, dir));
  examples(make, 'skills new find_papers --dir notes.skills');
}

async function checkPaths(cli: Cli, paths: string[], flags: CheckFlags): Promise<void> {
  const { output, environment } = cli;
  if (flags.tools !== undefined && flags.manifest !== undefined) {
    throw new WrongUsage('The tools come from --tools or from --manifest, not from both.');
  }
  const { checkSkills } = await import('../serve/check.ts');
  const tools = await givenTools(cli, flags);
  const checked = checkSkills(
    paths.map((path) => resolve(environment.cwd, path)),
    tools,
  );
  const count = (severity: string) =>
    checked.diagnostics.filter((diagnostic) => diagnostic.severity === severity).length;
  const errors = count('error');
  const warnings = count('warning');
  if (errors > 0 || (flags.strict && warnings > 0)) cli.failed = true;
  if (flags.json) return output.json(checked);
  show(cli, checked);
  output.line(
    `${counted(checked.skills.length, 'skill')}, ${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`,
  );
}

const Tools = z.array(z.looseObject({ name: z.string(), description: z.string().optional() }));
/** The list alone, the result of `tools/list`, or the whole answer as it came over the wire. */
const ToolsFile = z.union([
  Tools,
  z.looseObject({ tools: Tools }).transform(({ tools }) => tools),
  z.looseObject({ result: z.looseObject({ tools: Tools }) }).transform(({ result }) => result.tools),
]);

async function givenTools(cli: Cli, { tools, manifest }: CheckFlags): Promise<readonly RidingTool[] | null> {
  if (manifest !== undefined) {
    const { lookOnce } = await import('../serve/explain.ts');
    const { view, close } = await lookOnce(await openServer(cli, manifest));
    await close();
    return view.tools;
  }
  if (tools === undefined) return null;
  const path = resolve(cli.environment.cwd, tools);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const parsed = ToolsFile.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CommandFailed(
    `${path} is no list of tools: it holds no JSON with a tools array, each with a name.`,
  );
}

function show({ output }: Cli, { skills, sizes, diagnostics }: Checked): void {
  const { style } = output;
  for (const { name, path, bytes, block, gate, tools } of skills) {
    output.line(`${style.bold(name)}  ${style.dim(path)}`);
    output.line(`  method ${byteSize(bytes)}, block ${counted(block, 'character')}`);
    if (gate.length > 0) output.line(`  only when ${gate.join(' and ')}`);
    if (tools)
      output.line(tools.length > 0 ? `  rides on ${tools.join(', ')}` : '  rides on none of the tools');
  }
  const notable = sizes.filter(({ form, fits }) => form === 'lazy' || !fits);
  if (notable.length > 0) {
    output.line();
    output.table(
      [{ title: 'Tool' }, { title: 'Length', align: 'right' }, { title: 'Form' }, { title: 'Client' }],
      notable.map(({ tool, client, length, cap, form, fits }) => [
        tool,
        `${length} of ${cap}`,
        fits ? form : 'too long',
        client,
      ]),
    );
  } else if (sizes.length > 0) output.line('Every description fits every client, methods included.');
  if (skills.length > 0 && diagnostics.length > 0) output.line();
  for (const diagnostic of diagnostics) {
    const { severity } = diagnostic;
    const paint = severity === 'error' ? style.red : severity === 'warning' ? style.yellow : style.dim;
    if (severity !== 'debug') output.line(paint(lineOf(diagnostic)));
  }
}

function parseName(value: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(value)) {
    throw new InvalidArgumentError('It has letters, digits, "_", "-" and "." only.');
  }
  return value;
}

function writeTemplate({ output, environment }: Cli, name: string, dir: string): void {
  const folder = resolve(environment.cwd, dir);
  const path = join(folder, `${name}.md`);
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new CommandFailed(`${folder} is a file, and --dir needs a folder; name another.`);
  }
  try {
    writeFileSync(path, template(name), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new CommandFailed(`${path} exists already, and was left as it is; choose another name or folder.`);
  }
  output.line(`${path} was written; "repertoire skills check ${dir}" says what rides where.`);
}

function template(name: string): string {
  return `---
name: ${JSON.stringify(name)}
description: "TRIGGER when … SKIP when …"
# Further tools that it rides on, beside the one that has its name:
references_tools: []
# It stays silent unless all of these hold; leave out what does not matter:
# applies_when:
#   tool_registered: other_tool
#   graph_has_node_type: [Paper]
---

How to use the tool, in steps: short enough to be read whole.
`;
}
