import { z } from 'zod';

export const Kind = z.enum(['skill', 'persona']);
export type Kind = z.infer<typeof Kind>;

/** The file that makes a folder an item of its kind. */
export const MAIN_FILE = { skill: 'SKILL.md', persona: 'PERSONA.md' } as const satisfies Record<Kind, string>;

export const State = z.enum(['active', 'disabled', 'removed']);
export type State = z.infer<typeof State>;

/** agentskills.io: 1 to 64 of a-z, 0-9 and single inner hyphens; but no folder that Windows keeps for a device. */
export const ItemName = z
  .string()
  .max(64)
  .regex(/^(?!(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$)[a-z0-9]+(-[a-z0-9]+)*$/);

/** Lower-case hexadecimal SHA-256. */
export const Digest = z.string().regex(/^[0-9a-f]{64}$/);

/** Something kept as it is that some client will not read as meant. */
export const Flag = z.object({
  code: z.enum([
    'no-front-matter',
    'byte-order-mark',
    'unquoted-colon',
    'unquoted-value',
    'unreadable-front-matter',
    'comment-before-front-matter',
    'name-missing',
    'name-invalid',
    'name-differs',
    'name-reserved',
    'description-missing',
    'description-long',
    'description-markup',
    'key-breaks-client',
    'main-file-case',
    'many-files',
    'not-in-skills-extension',
  ]),
  /** 1-based line in the main file, where there is one. */
  line: z.number().int().positive().optional(),
  /** One sentence: what is odd and what it breaks. */
  message: z.string(),
  /** Ids of `clients.ts` that will not read the item as meant. */
  clients: z.array(z.string()),
});
export type Flag = z.infer<typeof Flag>;

/** A file as stored: bytes by digest. */
export const FileEntry = z.object({
  path: z.string(),
  digest: Digest,
  /** Bytes. */
  size: z.number().int().nonnegative(),
  executable: z.boolean(),
});
export type FileEntry = z.infer<typeof FileEntry>;

/** A file as written by a caller: text, or base64 where it is not UTF-8. An omitted `executable` is inherited. */
export const FileContent = z.union([
  z.strictObject({ text: z.string(), executable: z.boolean().optional() }),
  z.strictObject({ base64: z.base64(), executable: z.boolean().optional() }),
  /** Bytes already stored with `PUT /api/v1/blobs/{digest}`. */
  z.strictObject({ digest: Digest, executable: z.boolean().optional() }),
]);
export type FileContent = z.infer<typeof FileContent>;

/** Files by path; null removes one. */
export const FileChanges = z.record(z.string(), FileContent.nullable());
export type FileChanges = z.infer<typeof FileChanges>;

export const LIMITS = {
  name: 64,
  fileBytes: 1024 * 1024,
  itemBytes: 8 * 1024 * 1024,
  itemFiles: 512,
  frontMatterBytes: 16 * 1024,
  /** Flagged above, never cut in storage. */
  description: 1024,
  guidelines: 8000,
  /** Characters of a file that one `skills` call returns. */
  page: 20_000,
  inlineBytes: 64 * 1024,
  changesPageBytes: 2 * 1024 * 1024,
  mcpBodyBytes: 3 * 1024 * 1024,
} as const;

/** Who made a revision or a change: the kind of caller and its name as shown to a person. */
export const Author = z.object({
  type: z.enum(['session', 'token', 'oauth', 'device']),
  id: z.string(),
  name: z.string(),
  /** MCP client name, where the write came through one. */
  client: z.string().optional(),
});
export type Author = z.infer<typeof Author>;

export const ItemSummary = z.object({
  id: z.string(),
  kind: Kind,
  name: z.string(),
  description: z.string(),
  state: State,
  /** Number of the current revision: 1 for the first, strictly rising within the item. */
  revision: z.number().int().positive(),
  /** Item digest of the current revision, see `digest.ts`. */
  digest: Digest,
  flags: z.array(Flag),
  /** Milliseconds since the epoch, registry clock. */
  updated_at: z.number().int(),
});
export type ItemSummary = z.infer<typeof ItemSummary>;

export const Item = ItemSummary.extend({ files: z.array(FileEntry) });
export type Item = z.infer<typeof Item>;

export const Revision = z.object({
  revision: z.number().int().positive(),
  /** The revision that was current when this one was written; null for the first. */
  parent: z.number().int().positive().nullable(),
  digest: Digest,
  name: z.string(),
  description: z.string(),
  author: Author,
  made_at: z.number().int(),
  files: z.array(FileEntry),
});
export type Revision = z.infer<typeof Revision>;
