import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENTS, type ClientId } from '../schema/clients.ts';
import { type Machine, unwrittenFolders } from '../schema/folders.ts';

/**
 * Skills that a person keeps in a folder of a client's own, by name, each with one sentence about it. They are only told:
 * where one has the name of a skill that the agent writes elsewhere, that client sees both, or one of them by chance.
 */
export function findStrays(machine: Machine & { present: ReadonlySet<ClientId> }): Map<string, string> {
  const strays = new Map<string, string>();
  const shared = realOf(join(machine.home, '.agents/skills'));
  for (const { path, clients } of unwrittenFolders(machine)) {
    const real = realOf(path);
    if (real === null || real === shared) continue;
    const titles = CLIENTS.filter(({ id }) => clients.includes(id)).map(({ title }) => title);
    for (const name of namesIn(path)) {
      const where = `${join(path, name)}, which ${titles.join(' and ')} ${titles.length > 1 ? 'read' : 'reads'} as well`;
      const before = strays.get(name);
      strays.set(name, before ?? `There is another one in ${where}. Keep one of the two.`);
    }
  }
  return strays;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => existsSync(join(folder, name, 'SKILL.md')));
  } catch {
    return [];
  }
}

function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
