import { and, count, eq } from 'drizzle-orm';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { readRidingSkill } from '../../schema/riding/skill.ts';
import { SERVER_LIMITS } from '../../schema/servers.ts';
import { serverSkills, servers } from '../db/tables/servers.ts';
import type { Context } from './context.ts';
import { getServer, type KnownServer, moved, readServer, refuseSecrets } from './servers.ts';

/** The text of a skill that is declared for one server. Needs `skills:read`. @throws RegistryError `not_found` */
export async function getServerSkill(ctx: Context, name: string, file: string): Promise<string> {
  const { id } = await readServer(ctx, name, 'skills:read');
  const [row] = await ctx.db.select({ text: serverSkills.text }).from(serverSkills).where(named(id, file));
  if (!row) throw noSkill(name, file);
  return row.text;
}

/**
 * Declares a skill for one server, or replaces it. A file that would be left out is refused with the reason, rather than
 * kept without a word. Needs `skills:write`.
 * @throws RegistryError `not_found`, `too_large`, `invalid_front_matter`, `credential`
 */
export async function putServerSkill(
  ctx: Context,
  name: string,
  file: string,
  text: string,
): Promise<KnownServer> {
  const { id } = await readServer(ctx, name, 'skills:write');
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > SERVER_LIMITS.skillBytes) {
    throw new RegistryError(
      'too_large',
      `${file} has ${bytes} bytes, and ${SERVER_LIMITS.skillBytes} (64 KiB) is the most; shorten it.`,
    );
  }
  if (!text.isWellFormed())
    throw new RegistryError('invalid_input', `${file} holds half of a surrogate pair; send valid Unicode.`);
  const { skill, diagnostics } = readRidingSkill(file, text);
  if (!skill) {
    const [reason] = diagnostics;
    throw new RegistryError('invalid_front_matter', reason?.message ?? `${file} is no skill that can ride.`, {
      path: file,
    });
  }
  await refuseSecrets(file, text);
  const others = and(eq(serverSkills.serverId, id));
  const [kept] = await ctx.db.select({ n: count() }).from(serverSkills).where(others);
  const [there] = await ctx.db.select({ file: serverSkills.file }).from(serverSkills).where(named(id, file));
  if (!there && (kept?.n ?? 0) >= SERVER_LIMITS.skills) {
    throw new RegistryError(
      'too_large',
      `A server has at most ${SERVER_LIMITS.skills} skills of its own; remove one first.`,
    );
  }
  const digest = await sha256(text);
  await ctx.write([
    ctx.db
      .insert(serverSkills)
      .values({ serverId: id, file, text, digest })
      .onConflictDoUpdate({ target: [serverSkills.serverId, serverSkills.file], set: { text, digest } }),
    touch(ctx, id),
  ]);
  return getServer(ctx, name);
}

/** Needs `skills:write`. @throws RegistryError `not_found` */
export async function removeServerSkill(ctx: Context, name: string, file: string): Promise<void> {
  const { id } = await readServer(ctx, name, 'skills:write');
  const gone = await ctx.db.select({ file: serverSkills.file }).from(serverSkills).where(named(id, file));
  if (gone.length === 0) throw noSkill(name, file);
  await ctx.write([ctx.db.delete(serverSkills).where(named(id, file)), touch(ctx, id)]);
}

function touch(ctx: Context, id: string) {
  return ctx.db
    .update(servers)
    .set({ updatedAt: moved(ctx) })
    .where(eq(servers.id, id));
}

function named(id: string, file: string) {
  return and(eq(serverSkills.serverId, id), eq(serverSkills.file, file));
}

function noSkill(name: string, file: string): RegistryError {
  return new RegistryError(
    'not_found',
    `The server ${name} has no skill ${file.slice(0, 100)} of its own; look at the server to see which there are.`,
  );
}
