import { statSync } from 'node:fs';
import { CLIENTS } from '../../schema/clients.ts';
import { composeTools, type RidingTool } from '../../schema/riding/compose.ts';
import { descriptionCap } from '../../schema/riding/delivery.ts';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import { readLayer } from '../../schema/riding/directory.ts';
import { describeClause } from '../../schema/riding/gate.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';
import { sentence } from '../cli/failure.ts';
import { readSkillFile, skillFilesIn } from './files.ts';

/** What can be said about skill files before any server is asked. */
export interface Checked {
  skills: {
    name: string;
    path: string;
    /** Bytes of the method as it rides. */
    bytes: number;
    /** UTF-16 units that the whole block adds to a description. */
    block: number;
    gate: string[];
    /** Of the given tools, those that it rides on; null where none were given. */
    tools: string[] | null;
  }[];
  /** A description of each client with a cap, on each tool that something rides on. */
  sizes: {
    client: string;
    cap: number;
    tool: string;
    length: number;
    form: 'eager' | 'lazy';
    fits: boolean;
  }[];
  diagnostics: Diagnostic[];
}

/** A client that shows fewer characters has no room for when to use a tool; no skill can be written for it. */
const ROUTING_CHARS = 500;

const CAPPED = CLIENTS.flatMap((client) => {
  const cap = descriptionCap(client);
  return cap === null ? [] : [{ client, cap }];
});

/**
 * Reads skill files, and directories of them as a layer is read. Which gates hold is known only where the server is; one that
 * cannot be read never does. Without `tools`, each skill is measured on a tool of its own that has no text.
 */
export function checkSkills(paths: readonly string[], tools: readonly RidingTool[] | null): Checked {
  const read = paths.map(readPath);
  const skills = read.flatMap((each) => each.skills);
  const diagnostics = read.flatMap((each) => each.diagnostics);
  const given = tools ?? skills.map(({ name }) => ({ name }));
  const open = skills.filter(({ gate }) => !gate?.some(({ predicate }) => predicate === 'unreadable'));
  const measured = tools ? open : open.map((skill) => ({ ...skill, referencesTools: [] }));
  // A loader is offered beside any server's tools.
  const loader = given.some(({ name }) => name === 'skills') ? 'repertoire_skills' : 'skills';
  const compose = (cap: number | null) =>
    composeTools({ tools: given, active: measured, delivery: 'auto', cap, loader });
  const whole = compose(null);
  if (tools) diagnostics.push(...whole.diagnostics);
  const sizes = CAPPED.flatMap(({ client, cap }) =>
    compose(cap).rides.map(({ tool, length, form }) => ({
      client: client.title,
      cap,
      tool,
      length,
      form,
      fits: length <= cap,
    })),
  );
  return {
    skills: skills.map((skill) => {
      const rides = whole.rides.flatMap(({ tool, skills: on }) =>
        on.filter(({ name }) => name === skill.name).map(({ chars }) => ({ tool, chars })),
      );
      return {
        name: skill.name,
        path: skill.source,
        bytes: new TextEncoder().encode(skill.method).length,
        block: rides[0]?.chars ?? 0,
        gate: (skill.gate ?? []).map(describeClause),
        tools: tools && rides.map(({ tool }) => tool),
      };
    }),
    sizes,
    diagnostics: [...diagnostics, ...sizes.filter(({ fits }) => !fits).map(tooLong)],
  };
}

function readPath(path: string): { skills: readonly RidingSkill[]; diagnostics: readonly Diagnostic[] } {
  let files: string[];
  try {
    files = statSync(path).isDirectory() ? skillFilesIn(path) : [path];
  } catch (error) {
    const message =
      (error as NodeJS.ErrnoException).code === 'ENOENT'
        ? `${path} does not exist; name a skill file or a directory of them.`
        : sentence(error);
    return { skills: [], diagnostics: [{ severity: 'error', code: 'dropped', path, message }] };
  }
  if (files.length === 0) {
    const message = `${path} holds no skill files: they end in .md and lie in it, not in folders below it.`;
    return { skills: [], diagnostics: [{ severity: 'warning', code: 'no-skills', path, message }] };
  }
  const { layer, diagnostics } = readLayer({
    kind: 'declared',
    label: path,
    files: files.map(readSkillFile),
  });
  return { skills: layer.skills, diagnostics };
}

function tooLong({ client, cap, tool, length }: Checked['sizes'][number]): Diagnostic {
  const message = `The description of ${tool} has ${length} characters although the methods are left out, and ${client} shows ${cap}; shorten the descriptions of the skills on it.`;
  return { severity: cap < ROUTING_CHARS ? 'info' : 'warning', code: 'over-cap', tool, message };
}
