import type { Context as Call } from 'hono';
import type { z } from 'zod';
import { RegistryError } from '../../schema/errors.ts';
import { type Kind, Kind as KindSchema } from '../../schema/item.ts';
import type { AppEnv } from '../deps.ts';
import { requirePlainJson } from '../plain-json.ts';
import { arrived } from '../size-limit.ts';

/** The request's JSON body. @throws RegistryError `invalid_input` naming the field */
export async function bodyOf<S extends z.ZodType>(c: Call<AppEnv>, schema: S): Promise<z.infer<S>> {
  const text = await arrived(c.req.text());
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new RegistryError('invalid_input', 'The body is not valid JSON; send one JSON object.');
  }
  const input = parsed(schema, body, 'body');
  requirePlainJson(body, 'body');
  return input;
}

/** The request's query. @throws RegistryError `invalid_input` naming the parameter */
export function queryOf<S extends z.ZodType>(c: Call<AppEnv>, schema: S): z.infer<S> {
  return parsed(schema, c.req.query(), 'query');
}

/** The item that a path `…/{kind}/{name}` names. @throws RegistryError `not_found` */
export function itemOf(c: Call<AppEnv>): { kind: Kind; name: string } {
  const { kind, name = '' } = c.req.param() as Record<string, string>;
  const known = KindSchema.safeParse(kind);
  if (!known.success)
    throw new RegistryError('not_found', `There is no kind ${JSON.stringify(kind)}; it is skill or persona.`);
  return { kind: known.data, name };
}

function parsed<S extends z.ZodType>(schema: S, value: unknown, where: 'body' | 'query'): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.join('.') ?? '';
  throw new RegistryError(
    'invalid_input',
    field === ''
      ? `The ${where} is not as expected: ${sentence(issue)}.`
      : `${field} in the ${where} is not as expected: ${sentence(issue)}.`,
    field === '' ? {} : { field },
  );
}

function sentence(issue: z.core.$ZodIssue | undefined): string {
  if (!issue) return 'it does not match';
  if (issue.code === 'unrecognized_keys')
    return `it has ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}, which this address does not know`;
  if (issue.code === 'invalid_union' && 'options' in issue && issue.options)
    return `it is one of ${issue.options.join(', ')}`;
  if (issue.code === 'invalid_union') return 'it has none of the shapes that are allowed here';
  return issue.message.replace(/^Invalid input: /, '');
}
