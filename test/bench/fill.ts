import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@libsql/client/web';
import { Scope } from '../../schema/api.ts';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { FileChanges } from '../../schema/item.ts';
import { openDatabase } from '../../worker/db/client.ts';
import { tokens } from '../../worker/db/tables/programs.ts';
import { accounts } from '../../worker/db/tables/registry.ts';
import { encodeContent } from '../../worker/registry/blobs.ts';
import { Context } from '../../worker/registry/context.ts';
import { createItem } from '../../worker/registry/create.ts';
import { newId, newSecret } from '../../worker/registry/random.ts';

/** What an account begins with. */
export interface Fill {
  /** Skills of an ordinary length. */
  items?: number;
  /** Skills by name and length of their SKILL.md in characters. */
  named?: Record<string, number>;
  /** The skills of the corpus. */
  corpus?: true;
}

export const CORPUS = fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
export const hasCorpus = existsSync(CORPUS);

/** So many go through the registry's own verb; the rest are copies of one of them, row by row. */
const THROUGH_THE_VERB = 300;
const ITEM_CHARS = 4000;

/** Makes accounts with their items, and gives an API token for each. */
export async function fillAccounts(client: Client, fills: readonly Fill[]): Promise<string[]> {
  const made: string[] = [];
  for (const fill of fills) {
    const token = `sk_${newSecret()}`;
    const ctx = await addAccount(client, token);
    made.push(token);
    const { items = 0, named = {}, corpus } = fill;
    for (const [name, length] of Object.entries(named)) await addSkill(ctx, name, length);
    for (let n = 0; n < Math.min(items, THROUGH_THE_VERB); n++) await addSkill(ctx, `skill-${n}`, ITEM_CHARS);
    if (items > THROUGH_THE_VERB) await multiply(client, ctx.actor.accountId, items - THROUGH_THE_VERB);
    if (corpus) for (const folder of await corpusSkills()) await addFolder(ctx, folder);
  }
  return made;
}

/** A skill's text of about that length. */
function skillText(name: string, length: number): string {
  const head = `---\nname: ${name}\ndescription: Use when a measurement asks for ${name}, in any of the usual cases and in some others too.\n---\n\n`;
  return `${head}${instructions(length - head.length, `# ${name}`)}`;
}

/** Text of that length, or a little more, that begins with a marker. */
export function instructions(length: number, marker: string): string {
  const line = 'One line of instructions that says what to do next, and why that is so.\n';
  return `${marker}\n\n${line.repeat(Math.max(1, Math.ceil(length / line.length)))}`;
}

async function addAccount(client: Client, token: string): Promise<Context> {
  const db = openDatabase(client);
  const [accountId, hash] = [newId(), await sha256(token)];
  const scopes = [...Scope.options];
  await db
    .insert(accounts)
    .values({ id: accountId, name: 'bench', epoch: newId().slice(0, 12), createdAt: 0 });
  await db.insert(tokens).values({ id: newId(), accountId, hash, name: 'bench', scopes, createdAt: 0 });
  const around = { db, now: Date.now, notify: async () => {}, defer: (work: Promise<unknown>) => void work };
  const ctx = new Context(around, { type: 'token', hash });
  await ctx.enter();
  return ctx;
}

async function addSkill(ctx: Context, name: string, length: number): Promise<void> {
  await createItem(ctx, { kind: 'skill', files: { 'SKILL.md': { text: skillText(name, length) } } });
}

/** Copies of the account's last item under names of their own, with revision and files. */
async function multiply(client: Client, account: string, times: number): Promise<void> {
  const copies = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${times})`;
  const [last, copied] = [
    "seq = (select max(seq) from items where account_id = ?1 and id not like 'copy-%')",
    "id like 'copy-%'",
  ];
  const columns =
    'kind, description, state, revision, digest, flags, front_matter, inline_bytes, created_at, updated_at';
  await client.batch([
    {
      sql: `insert into items (id, account_id, name, seq, ${columns}) ${copies} select printf('copy-%s-%d', ?1, i), account_id, printf('copy-%d', i), seq + i, ${columns} from items, n where account_id = ?1 and ${last}`,
      args: [account],
    },
    ...[
      'revisions (item_id, revision, parent, digest, name, description, flags, front_matter, author, made_at) select c.id, r.revision, r.parent, r.digest, c.name, r.description, r.flags, r.front_matter, r.author, r.made_at from items c, revisions r',
      'files (item_id, revision, path, digest, size, executable) select c.id, r.revision, r.path, r.digest, r.size, r.executable from items c, files r',
    ].map((insert) => ({
      sql: `insert into ${insert} where c.account_id = ?1 and c.${copied} and r.item_id = (select id from items where account_id = ?1 and ${last})`,
      args: [account],
    })),
    {
      sql: 'update accounts set seq = (select max(seq) from items where account_id = ?1) where id = ?1',
      args: [account],
    },
  ]);
}

/** Folders of the corpus that hold a SKILL.md. */
export async function corpusSkills(): Promise<string[]> {
  const paths = await readdir(CORPUS, { recursive: true });
  return paths.filter((path) => basename(path) === 'SKILL.md').map((path) => join(CORPUS, dirname(path)));
}

async function addFolder(ctx: Context, folder: string): Promise<void> {
  const files: FileChanges = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const executable = ((await stat(path)).mode & 0o100) !== 0;
    const content = encodeContent(await readFile(path));
    files[relative(folder, path).split(sep).join('/')] = { ...content, executable } as FileChanges[string];
  }
  const input = { kind: 'skill', files, fallback_name: basename(folder) } as const;
  try {
    await createItem(ctx, input);
  } catch (error) {
    if (!(error instanceof RegistryError) || error.code !== 'confirmation_required') throw error;
    const confirm = (error.details.findings ?? []).map(({ rule, match }) => ({ rule, match }));
    await createItem(ctx, { ...input, confirm });
  }
}
