import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
} from '@modelcontextprotocol/server';
import {
  DIRECTORY_MIME_TYPE,
  type Skill,
  type SkillReadResult,
  type SkillSource,
  SkillsExtension,
} from '@modelcontextprotocol/server/ext/skills';
import { sha256 } from '../../schema/digest.ts';
import { decodeText } from '../../schema/frontmatter.ts';
import { MAIN_FILE } from '../../schema/item.ts';
import {
  getSkillRow,
  listSkillHeads,
  listSkillRows,
  readSkillFile,
  type SkillHead,
  type SkillKey,
  type SkillRow,
} from '../registry/skill-source.ts';
import { LIST_CACHE } from './cache.ts';
import { personaSkill } from './persona-skill.ts';
import type { Session } from './session.ts';
import { parseSkillUri, skillUri } from './skill-uri.ts';

/** Entries of one page of `skills/list`, `resources/list` and a folder. */
const PAGE = 100;
const MANIFEST = MAIN_FILE.skill;
const MARKDOWN = 'text/markdown';

/** Serves the extension `io.modelcontextprotocol/skills` (SEP-2640) over the same rows and bytes as the tools. */
export function attachSkills(mcp: McpServer, session: Session): void {
  new SkillsExtension({
    source: skillSource(session),
    cacheHint: LIST_CACHE,
    onWarning: ({ path, message }) => console.error(`Skills extension: ${path}: ${message}`),
  }).attach(mcp);
  // The SDK's own handler knows no pages.
  mcp.server.setRequestHandler('resources/list', ({ params }) =>
    session.refusals.method(async () => {
      const { rows, more } = await listSkillHeads(session.ctx, {
        after: afterOf(params?.cursor),
        limit: PAGE,
      });
      return { resources: rows.map(toResource), ...cursorOf(rows, more) };
    }),
  );
}

function skillSource({ ctx, refusals }: Session): SkillSource {
  return {
    list: ({ cursor }) =>
      refusals.method(async () => {
        const { rows, more } = await listSkillRows(ctx, { after: afterOf(cursor), limit: PAGE });
        return { skills: await Promise.all(rows.map(toSkill)), ...cursorOf(rows, more) };
      }),
    get: (uri) =>
      refusals.method(async () => {
        const place = parseSkillUri(uri);
        if (place?.path !== MANIFEST) return undefined;
        const row = await getSkillRow(ctx, place);
        return row ? toSkill(row) : undefined;
      }),
    read: (uri) =>
      refusals.method(async () => {
        const place = parseSkillUri(uri);
        if (!place) return undefined;
        if (place.kind === 'persona' && place.path === MANIFEST) {
          const row = await getSkillRow(ctx, place);
          return row ? toContent(MANIFEST, personaSkill(row).bytes) : undefined;
        }
        const bytes = await readSkillFile(ctx, place, place.path);
        return bytes ? toContent(place.path, bytes) : undefined;
      }),
    readDirectory: (uri, { cursor }) =>
      refusals.method(async () => {
        const place = parseSkillUri(uri);
        const row = place && (await getSkillRow(ctx, place));
        const children = row ? childrenOf(row, place.path) : [];
        if (children.length === 0) return undefined;
        const start = startOf(cursor);
        const end = start + PAGE;
        return {
          resources: children.slice(start, end),
          ...(end < children.length ? { nextCursor: `${end}` } : {}),
        };
      }),
  };
}

async function toSkill(row: SkillRow): Promise<Skill> {
  const { frontMatter, files } = await manifestOf(row);
  return {
    uri: skillUri({ ...row, path: MANIFEST }),
    frontmatter: frontMatter as Skill['frontmatter'],
    resources: files.map(({ path, digest, size }) => ({
      uri: skillUri({ ...row, path }),
      digest: `sha256:${digest}`,
      size,
    })),
  };
}

async function manifestOf(row: SkillRow): Promise<Pick<SkillRow, 'frontMatter' | 'files'>> {
  if (row.kind === 'skill') return row;
  const { frontMatter, bytes } = personaSkill(row);
  const made = { path: MANIFEST, digest: await sha256(bytes), size: bytes.length, executable: false };
  return { frontMatter, files: [made, ...row.files.filter(({ path }) => path !== MANIFEST)] };
}

function toResource({ kind, name, description }: SkillHead): Resource {
  return { uri: skillUri({ kind, name, path: MANIFEST }), name, description, mimeType: MARKDOWN };
}

function toContent(path: string, bytes: Uint8Array): SkillReadResult {
  const text = decodeText(bytes);
  return text === null
    ? { bytes, mimeType: 'application/octet-stream' }
    : { text, mimeType: path.endsWith('.md') ? MARKDOWN : 'text/plain' };
}

/** What lies directly in a folder of an item, by name; nothing when there is no such folder. */
function childrenOf(row: SkillRow, folder: string): Resource[] {
  const inside = folder === '' ? '' : `${folder}/`;
  const paths = new Set(row.files.map(({ path }) => path));
  if (row.kind === 'persona') paths.add(MANIFEST);
  const children = new Map<string, Resource>();
  for (const path of [...paths].sort()) {
    if (!path.startsWith(inside)) continue;
    const [name = '', ...deeper] = path.slice(inside.length).split('/');
    const mimeType =
      deeper.length > 0
        ? { mimeType: DIRECTORY_MIME_TYPE }
        : name.endsWith('.md')
          ? { mimeType: MARKDOWN }
          : {};
    children.set(name, { uri: skillUri({ ...row, path: inside + name }), name, ...mimeType });
  }
  return [...children.values()];
}

function cursorOf(rows: readonly SkillKey[], more: boolean): { nextCursor?: string } {
  const last = rows.at(-1);
  return more && last ? { nextCursor: `${last.kind}/${last.name}` } : {};
}

function afterOf(cursor: string | undefined): SkillKey | undefined {
  if (cursor === undefined) return undefined;
  const match = /^(skill|persona)\/([a-z0-9-]+)$/.exec(cursor);
  if (!match) throw unknownCursor();
  const [, kind, name] = match as unknown as [string, SkillKey['kind'], string];
  return { kind, name };
}

function startOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!/^\d{1,6}$/.test(cursor)) throw unknownCursor();
  return Number(cursor);
}

function unknownCursor(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'This cursor is not one that this list gave; begin without one.',
  );
}
