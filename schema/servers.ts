import { z } from 'zod';

/** Shapes of the web API under `/api/v1/servers`: other MCP servers, served at `/mcp/{name}` with skills on their tools. Times are milliseconds. */

export const SERVER_LIMITS = {
  /** Of an account. */
  servers: 50,
  /** Characters of a manifest. */
  manifest: 65_536,
  /** Skills declared for one server. */
  skills: 100,
  /** Bytes of one of them. */
  skillBytes: 65_536,
  /** Characters of a token or header value. */
  credential: 8192,
} as const;

/** Part of an address and of tool names: short, so that prefixed names stay readable. */
export const ServerName = z
  .string()
  .regex(
    /^(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*$/,
    'it has 1 to 32 of a-z, 0-9 and single hyphens between them',
  );

/** File name of a skill that is declared for one server. */
export const DeclaredSkillFile = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,95}\.md$/, 'it is a plain file name that ends in .md');

const Secret = z
  .string()
  .min(1)
  .max(SERVER_LIMITS.credential)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'it is printable ASCII without blanks at its ends');

/** Names of headers that say how a message travels, or what it is. */
const TRANSPORT_HEADERS =
  /^(accept.*|connection|content-.*|expect|host|keep-alive|last-event-id|mcp-.*|proxy-.*|repertoire-.*|te|trailer|transfer-encoding|upgrade)$/i;

/** How a server is spoken to. Kept encrypted, and never told again. */
export const ServerCredential = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), token: Secret }),
  z.strictObject({
    type: z.literal('header'),
    name: z
      .string()
      .max(100)
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'it is the name of an HTTP header')
      .refine((name) => !TRANSPORT_HEADERS.test(name), 'it is none that the transport sets itself'),
    value: Secret,
  }),
  z.strictObject({
    type: z.literal('oauth'),
    /** Where the client was registered beforehand. Without it, it is registered by its metadata document or dynamically. */
    client_id: z.string().min(1).max(2048).optional(),
    client_secret: Secret.optional(),
    scope: z.string().max(1000).optional(),
  }),
]);
export type ServerCredential = z.infer<typeof ServerCredential>;

/** `GET /api/v1/servers/{name}` */
export const Server = z.object({
  name: z.string(),
  /** Address under which MCP clients reach it here. */
  url: z.string(),
  upstream: z.string(),
  /** YAML, as written. */
  manifest: z.string(),
  /** Its tools are in the list of `/mcp` as well, with its name before theirs. */
  in_main: z.boolean(),
  credential: z.enum(['none', 'bearer', 'header', 'oauth']),
  /** Of an `oauth` credential: whether the person has connected it. */
  connected: z.boolean(),
  /** When its tools were last listed, and how many they were; null before that. */
  listed: z.object({ at: z.number().int(), tools: z.number().int() }).nullable(),
  /** Skills that ride on its tools only, by file name. */
  skills: z.array(z.string()),
  updated_at: z.number().int(),
});
export type Server = z.infer<typeof Server>;

/** `GET /api/v1/servers`, by name. */
export const ServerList = z.object({ servers: z.array(Server) });
export type ServerList = z.infer<typeof ServerList>;

const Manifest = z.string().max(SERVER_LIMITS.manifest);

/** `POST /api/v1/servers` */
export const ServerBody = z.strictObject({
  name: ServerName,
  upstream: z.string().max(2048),
  manifest: Manifest.default(''),
  in_main: z.boolean().default(false),
  credential: ServerCredential.default({ type: 'none' }),
});
export type ServerBody = z.infer<typeof ServerBody>;

/** `PATCH /api/v1/servers/{name}`: what is left out stays. */
export const ServerEditBody = z.strictObject({
  upstream: z.string().max(2048).optional(),
  manifest: Manifest.optional(),
  in_main: z.boolean().optional(),
  credential: ServerCredential.optional(),
});
export type ServerEditBody = z.infer<typeof ServerEditBody>;

/** `PUT /api/v1/servers/{name}/skills/{file}` */
export const DeclaredSkillBody = z.strictObject({ text: z.string() });

/** `POST /api/v1/servers/{name}/connect`: where the person lets the registry in. */
export const ServerConnection = z.object({ authorize_url: z.string() });
export type ServerConnection = z.infer<typeof ServerConnection>;

/** One thing that a person should know of the skills of a server. */
const RidingNote = z.object({
  severity: z.enum(['error', 'warning', 'info', 'debug']),
  code: z.string(),
  message: z.string(),
  path: z.string().optional(),
  skill: z.string().optional(),
  tool: z.string().optional(),
});

/** `GET /api/v1/servers/{name}/preview?client=`: each tool's description as a client gets it. */
export const ServerPreview = z.object({
  /** True when the server did not answer and this is the list it gave last. */
  stale: z.boolean(),
  clients: z.array(
    z.object({
      /** Id of `schema/clients.ts`; null for one that is not known. */
      client: z.string().nullable(),
      title: z.string(),
      /** Characters of a description that reach its model; null when no cap is known. */
      cap: z.number().int().nullable(),
      tools: z.array(
        z.object({
          name: z.string(),
          description: z.string(),
          /** Characters, and estimated tokens of four characters each. */
          length: z.number().int(),
          tokens: z.number().int(),
          over_cap: z.boolean(),
          /** Characters before any skill. */
          base_length: z.number().int(),
          form: z.enum(['eager', 'lazy']).nullable(),
          /** In the order in which they stand. */
          skills: z.array(z.object({ name: z.string(), chars: z.number().int() })),
        }),
      ),
      notes: z.array(RidingNote),
    }),
  ),
});
export type ServerPreview = z.infer<typeof ServerPreview>;
