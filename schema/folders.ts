import { type ClientId, type Disk, WRITTEN_CLIENTS } from './clients.ts';
import type { Kind } from './item.ts';
import type { PersonaFormat } from './persona.ts';

export type Platform = 'linux' | 'darwin' | 'win32';

/** What decides where clients look: environment, home directory and platform of the device. */
export interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  platform: Platform;
}

/** A folder to write. */
export interface ClientFolder {
  /** Absolute, with the platform's separators. */
  path: string;
  kind: Kind;
  format: 'skill-folder' | PersonaFormat;
  /** Present clients that read it. */
  clients: ClientId[];
  /** Those among them that see a change only after a restart. */
  restart: ClientId[];
}

/** The configuration folder of each client that we write for: it is present on the device when that folder exists. */
export function clientPresence(machine: Machine): { client: ClientId; path: string }[] {
  return WRITTEN_CLIENTS.map(({ id, disk }) => ({ client: id, path: configFolder(machine, disk) }));
}

/**
 * The folders to write for the clients in `present` (by configuration folder, or named by the person), skills first.
 * Skills go to the shared `~/.agents/skills` always, and to one more folder for each client that does not read it;
 * so `~/.claude/skills` is left out where nothing depends on it, and no client gets a copy in its own folder beside the
 * shared one. Personas go to each client's own folder, in its own format.
 */
export function clientFolders(machine: Machine & { present: ReadonlySet<ClientId> }): ClientFolder[] {
  const clients = WRITTEN_CLIENTS.filter((client) => machine.present.has(client.id));
  const reads = clients.map(({ disk }) => skillFolders(machine, disk));

  const skills = new Map<string, ClientFolder>();
  const addSkills = (path: string) =>
    skills.set(key(machine.platform, path), {
      path,
      kind: 'skill',
      format: 'skill-folder',
      clients: [],
      restart: [],
    });
  addSkills(join(machine.platform, machine.home, '.agents/skills'));
  for (const paths of reads) {
    const served = paths.some((path) => skills.has(key(machine.platform, path)));
    const [own] = paths;
    if (!served && own !== undefined) addSkills(own);
  }
  for (const [index, client] of clients.entries()) {
    for (const path of new Set(reads[index]?.map((read) => key(machine.platform, read)))) {
      const folder = skills.get(path);
      folder?.clients.push(client.id);
      if (client.disk.restart) folder?.restart.push(client.id);
    }
  }

  const personas = new Map<string, ClientFolder>();
  for (const { id, disk } of clients) {
    const path = join(machine.platform, configFolder(machine, disk), disk.personas);
    // Two clients pointed at one folder would overwrite each other's format there: the first keeps it.
    if (personas.has(key(machine.platform, path))) continue;
    personas.set(key(machine.platform, path), {
      path,
      kind: 'persona',
      format: id as PersonaFormat,
      clients: [id],
      restart: disk.restart ? [id] : [],
    });
  }
  return [...skills.values(), ...personas.values()];
}

/**
 * The folders that present clients read for skills and that are not written. A skill there that has the name of a written
 * one is listed by its client beside ours, or in place of it.
 */
export function unwrittenFolders(
  machine: Machine & { present: ReadonlySet<ClientId> },
): { path: string; clients: ClientId[] }[] {
  const written = new Set(clientFolders(machine).map(({ path }) => key(machine.platform, path)));
  const found = new Map<string, { path: string; clients: ClientId[] }>();
  for (const { id, disk } of WRITTEN_CLIENTS.filter((client) => machine.present.has(client.id))) {
    for (const path of new Set(skillFolders(machine, disk))) {
      const place = key(machine.platform, path);
      if (written.has(place)) continue;
      const folder = found.get(place) ?? { path, clients: [] };
      folder.clients.push(id);
      found.set(place, folder);
    }
  }
  return [...found.values()];
}

function skillFolders(machine: Machine, disk: Disk): string[] {
  return disk.skills
    .filter((place) => !place.unless?.some((variable) => isOn(machine.env[variable])))
    .map((place) => {
      const base = place.under === 'home' ? homeFolder(machine, disk) : configFolder(machine, disk);
      return join(machine.platform, base, place.path);
    });
}

function configFolder(machine: Machine, disk: Disk): string {
  const { path, variable, below = '' } = disk.config;
  const override = variable && absolute(machine, variable);
  return override
    ? join(machine.platform, override, below)
    : join(machine.platform, homeFolder(machine, disk), path);
}

function homeFolder(machine: Machine, disk: Disk): string {
  return (disk.homeVariable && absolute(machine, disk.homeVariable)) || machine.home;
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && !['', '0', 'false'].includes(value.toLowerCase());
}

/** A relative value means another folder in every working directory, so it is left aside. */
function absolute({ env, platform }: Machine, variable: string): string | undefined {
  const value = env[variable];
  const pattern = platform === 'win32' ? /^([a-z]:[\\/]|[\\/]{2}[^\\/])/i : /^\//;
  return value !== undefined && pattern.test(value) ? value : undefined;
}

function join(platform: Platform, base: string, path: string): string {
  const windows = platform === 'win32';
  const root = windows ? (/^([a-z]:|[\\/]{2}[^\\/]+[\\/]+[^\\/]+)/i.exec(base)?.[0] ?? '') : '';
  const parts: string[] = [];
  for (const part of `${base.slice(root.length)}/${path}`.split(windows ? /[\\/]+/ : /\/+/)) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return windows ? [root.replaceAll('/', '\\'), ...parts].join('\\') : `/${parts.join('/')}`;
}

function key(platform: Platform, path: string): string {
  return platform === 'linux' ? path : path.toLowerCase();
}
