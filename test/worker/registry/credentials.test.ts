import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { describe, expect, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { type Finding, RegistryError } from '../../../schema/errors.ts';
import { OWN_RULES, SECRETLINT_RULES } from '../../../worker/registry/credential-rules.ts';
import {
  assertNoCredentials,
  findCredentials,
  refuseCredentials,
} from '../../../worker/registry/credentials.ts';

const LOWER = 'bcdfghjkmnpqrstvwz';
const DIGITS = '0123456789';
const HEX = '0123456789abcdef';
const MIXED = `${LOWER}${LOWER.toUpperCase()}${DIGITS}`;

let state = 20260711;
/** Characters that look random and are the same in every run. */
function random(length: number, alphabet = MIXED): string {
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += alphabet[Math.floor((state / 2 ** 32) * alphabet.length)];
  }
  return text;
}

function jwt(header: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part({ sub: random(12), role: 'service_role' })}.${random(86)}`;
}

const PEM = ['-----BEGIN ', 'PRIVATE KEY', '-----'] as const;
function pem(label: string, body: string): string {
  return `${PEM[0]}${label}${PEM[1]}${PEM[2]}\n${body.match(/.{1,64}/g)?.join('\n')}\n${PEM[2]}END ${label}${PEM[1]}${PEM[2]}`;
}
const real = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey,
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  ed25519: generateKeyPairSync('ed25519').privateKey,
};

/** What is found, by which rule, as it stands in a text; `around` gives the line it stands in. */
interface Kind {
  readonly rule: string;
  readonly value: string;
  readonly around?: (value: string) => string;
}
const key = (rule: string, value: string, around?: Kind['around']): Kind => ({
  rule,
  value,
  ...(around && { around }),
});

const KINDS: Record<string, Kind> = {
  'RSA key': key('private-key', real.rsa.export({ type: 'pkcs1', format: 'pem' }).toString()),
  'EC key': key('private-key', real.ec.export({ type: 'sec1', format: 'pem' }).toString()),
  'PKCS#8 key': key('private-key', real.ec.export({ type: 'pkcs8', format: 'pem' }).toString()),
  'Ed25519 key': key('private-key', real.ed25519.export({ type: 'pkcs8', format: 'pem' }).toString()),
  'OpenSSH key': key('private-key', pem('OPENSSH ', `b3BlbnNzaC1rZXktdjEAAAAA${random(300)}`)),
  'key with headers': key(
    'private-key',
    real.rsa
      .export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: random(20) })
      .toString(),
  ),
  'service account': key(
    'private-key',
    real.rsa.export({ type: 'pkcs8', format: 'pem' }).toString(),
    (value) => JSON.stringify({ private_key_id: random(40, HEX), private_key: value }),
  ),
  'age key': key('age-secret-key', `AGE-SECRET-${'KEY-1'}${random(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}`),
  'GitHub token': key('github', `ghp${'_'}${random(36)}`),
  'GitHub fine-grained token': key('github', `github${'_pat_'}${random(82)}`),
  'GitHub installation token': key('github', `ghs${'_'}${random(36)}`),
  'GitLab token': key('gitlab', `glpat${'-'}${random(20)}`),
  'AWS secret key': key('aws', random(40), (value) => `aws_secret_access_key = ${value}`),
  'Slack token': key('slack', `xoxb${'-'}${random(12, DIGITS)}-${random(12, DIGITS)}-${random(24)}`),
  'Slack webhook': key(
    'slack',
    `https://hooks.slack${'.com/services'}/T${random(9)}/B${random(9)}/${random(24)}`,
  ),
  'OpenAI key': key('openai', `sk-proj${'-'}${random(74)}T3Blbk${'FJ'}${random(74)}`),
  'Anthropic key': key('anthropic', `sk-ant${'-api03-'}${random(93)}AA`),
  'Anthropic admin key': key('anthropic-account-key', `sk-ant${'-admin01-'}${random(93)}AA`),
  'Groq key': key('groq', `gsk${'_'}${random(52)}`),
  'Hugging Face token': key('huggingface-token', `hf${'_'}${random(34)}`),
  'Linear key': key('linear', `lin${'_api_'}${random(40)}`),
  'Notion token': key('notion', `ntn${'_'}${random(11, DIGITS)}${random(35)}`),
  'npm token': key('npm', `npm${'_'}${random(36)}`),
  'npmrc token': key('npmrc-token', random(36), (value) => `//npm.acme.dev/:_auth${'Token'}=${value}`),
  'SendGrid key': key('sendgrid', `SG${'.'}${random(22)}.${random(43)}`),
  'Shopify token': key('shopify', `shpat${'_'}${random(32, HEX)}`),
  'Stripe key': key('stripe', `sk${'_live_'}${random(24)}`),
  'Stripe test key': key('stripe', `rk${'_test_'}${random(99)}`),
  'Stripe webhook secret': key('stripe-webhook-secret', `whsec${'_'}${random(32)}`),
  'Grafana token': key('grafana', `glsa${'_'}${random(32)}_${random(8, HEX)}`),
  '1Password token': key(
    '1password',
    `ops${'_'}${Buffer.from(
      JSON.stringify({ email: random(20), muk: { k: random(80) }, deviceUuid: random(26) }),
    ).toString('base64')}`,
  ),
  'Vault token': key('hashicorp-vault', `hvs${'.'}${random(95)}`),
  'Vercel token': key('vercel', `vcp${'_'}${random(24)}`),
  'Databricks token': key('databricks', `dapi${random(32, HEX)}`),
  'Docker token': key('docker', `dckr${'_pat_'}${random(27)}`),
  'Figma token': key('figma', `figd${'_'}${random(40)}`),
  'Cloudflare token': key('cloudflare', `cfut${'_'}${random(40)}${random(8, HEX)}`),
  'Cloudflare API token': key(
    'cloudflare-api-key',
    random(40),
    (value) => `CLOUDFLARE_API_${'TOKEN'}=${value}`,
  ),
  'Cloudflare global key': key(
    'cloudflare-api-key',
    random(37, HEX),
    (value) => `cf_api_${'key'}: "${value}"`,
  ),
  'Cloudflare origin key': key(
    'cloudflare-origin-ca-key',
    `v1.0${'-'}${random(24, HEX)}-${random(146, HEX)}`,
  ),
  'Tailscale key': key('tailscale', `tskey${'-auth-'}${random(12)}-${random(32)}`),
  'Google API key': key('google-api-key', `AI${'za'}${random(35)}`),
  'Google OAuth secret': key('google-oauth-secret', `GOC${'SPX-'}${random(28)}`),
  'Discord bot token': key('discord-bot-token', `M${'T'}${random(22)}.${random(6)}.${random(38)}`),
  'Discord webhook': key(
    'discord-webhook',
    `discord${'.com/api/webhooks'}/${random(18, DIGITS)}/${random(68)}`,
    (value) => `https://${value}`,
  ),
  'Discord client secret': key(
    'discord-client-secret',
    random(32),
    (value) => `DISCORD_CLIENT_${'SECRET'}=${value}`,
  ),
  'Azure client secret': key('azure-client-secret', `${random(3)}8Q${'~'}${random(34)}`),
  'Azure storage key': key('azure-access-key', `${random(86)}==`, (value) => `Account${'Key'}=${value};`),
  'Twilio key': key('twilio-api-key', `S${'K'}${random(32, HEX)}`),
  'Twilio token': key('twilio-auth-token', random(32, HEX), (value) => `twilio_auth_${'token'} = '${value}'`),
  'Turso token': key('turso-token', jwt({ alg: 'EdDSA', typ: 'JWT' })),
  'xAI key': key('xai-api-key', `xai${'-'}${random(80)}`),
  'Supabase token': key('supabase-key', `sbp${'_'}${random(40, HEX)}`),
  'Supabase secret key': key('supabase-key', `sb${'_secret_'}${random(31)}`),
  'Telegram token': key('telegram-bot-token', `${random(10, '123456789')}:A${'A'}${random(33)}`),
  'OpenRouter key': key('openrouter-key', `sk-or${'-v1-'}${random(64, HEX)}`),
  'PyPI token': key('pypi-token', `pypi${'-AgE'}${random(150)}`),
  'DigitalOcean token': key('digitalocean-token', `dop${'_v1_'}${random(64, HEX)}`),
  'Replicate token': key('replicate-token', `r8${'_'}${random(37)}`),
  JWT: key('jwt', jwt({ alg: 'HS256', typ: 'JWT' })),
  'basic auth': key('basicauth', `https://deploy:${random(16)}@git.acme.dev`),
  PostgreSQL: key('database-connection-string', `postgres://app:${random(16)}@db.acme.dev:5432/app`),
  MongoDB: key('database-connection-string', `mongodb+srv://app:${random(16)}@cluster0.acme.dev/app`),
  MySQL: key('database-connection-string', `mysql://app:${random(16)}@db.acme.dev/app`),
  'curl bearer': key(
    'auth-header',
    random(40),
    (value) => `curl -H "Author${'ization'}: Bearer ${value}" https://api.acme.dev`,
  ),
  'API key header': key(
    'auth-header',
    random(32),
    (value) => `curl -H 'X-API-${'Key'}: ${value}' https://a.dev`,
  ),
  password: key('password', random(14), (value) => `pass${'word'} = "${value}"`),
  'password in JSON': key('password', random(14), (value) => `"db_pass${'word'}": "${value}",`),
  'password in a shell': key('environment-secret', random(14), (value) => `export DB_PASS${'WORD'}=${value}`),
};

const ASKED = new Set([
  'jwt',
  'npmrc-token',
  'basicauth',
  'database-connection-string',
  'auth-header',
  'password',
  'environment-secret',
]);

function halves(text: string): [string, string] {
  const middle = text.length >> 1;
  return [text.slice(0, middle), text.slice(middle)];
}

/** Texts that hold `line`, with the 1-based line where it starts. */
const PLACES: Record<string, (line: string) => { text: string; at: number }> = {
  'as it is': (line) => ({ text: `# Deploy\n\nUse this:\n\n${line}\n\nThen go.\n`, at: 5 }),
  'in front matter': (line) => ({
    text: `---\r\nname: deploy\r\ndescription: >\r\n  ${line}\r\n---\r\nGo.\r\n`,
    at: 4,
  }),
  'after a disable comment': (line) => ({
    text: `<!-- secretlint-disable -->\n<!-- secretlint-disable-next-line -->\n${line} <!-- secretlint-disable-line -->\n`,
    at: 3,
  }),
};

describe.each(Object.entries(KINDS))('%s', (_name, { rule, value, around = (text: string) => text }) => {
  test.each(Object.entries(PLACES))('is found %s', async (_place, put) => {
    const { text, at } = put(around(value));
    const findings = await findCredentials([{ path: 'SKILL.md', text }]);
    expect(findings).toContainEqual({
      rule,
      level: ASKED.has(rule) ? 'ask' : 'refuse',
      path: 'SKILL.md',
      line: at,
      match: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    // A private key is named by its first line.
    if (rule !== 'private-key') expect(findings.map(({ match }) => match)).toContain(await sha256(value));
  });

  test.each([
    ['zero-width space', '\u200b'],
    ['soft hyphen', '\u00ad'],
    ['word joiner', '\u2060'],
  ])('is found split by a %s', async (_character, character) => {
    const { text, at } = (PLACES['as it is'] as (typeof PLACES)[string])(
      around(
        rule === 'private-key'
          ? `${value.slice(0, 60)}${character}${value.slice(60)}`
          : halves(value).join(character),
      ),
    );
    const findings = await findCredentials([{ path: 'SKILL.md', text }]);
    expect(findings.map(({ rule, line }) => `${rule} ${line}`)).toContain(`${rule} ${at}`);
  });

  test('is refused without its value', async () => {
    const { text } = (PLACES['as it is'] as (typeof PLACES)[string])(around(value));
    const error = await refusal([{ path: 'notes/key.md', text }]);
    expect(error.code).toBe(ASKED.has(rule) ? 'confirmation_required' : 'credential');
    expect(error.message).toContain(`notes/key.md line 5 (rule ${rule})`);
    const told = `${error.message}${error.stack}${JSON.stringify(error.details)}${error.cause ?? ''}`;
    for (const part of value.split('\n').filter((line) => line.length >= 8 && !line.includes('-----'))) {
      expect(told).not.toContain(part.slice(0, 8));
      expect(told).not.toContain(part.slice(-8));
    }
  });
});

test('there are enough kinds, and each own rule and each used rule of the preset is met', () => {
  expect(Object.keys(KINDS).length).toBeGreaterThanOrEqual(35);
  const met = new Set(Object.values(KINDS).map(({ rule }) => rule));
  // Every token that this one knows is one of our own rule's.
  met.add('huggingface');
  expect(met).toEqual(new Set([...OWN_RULES.map(({ id }) => id), ...Object.keys(SECRETLINT_RULES)]));
});

test('the preset holds no rule that was not looked at', () => {
  const ids = rules.map(({ meta }) => meta.id.replace('@secretlint/secretlint-rule-', ''));
  expect(ids.sort()).toEqual(
    [...Object.keys(SECRETLINT_RULES), 'filter-comments', 'gcp', 'privatekey'].sort(),
  );
});

test.each([
  `ghp${'_'}${'x'.repeat(36)}`,
  `ghp${'_'}${'a1'.repeat(18)}`,
  'https://user:pass@example.com',
  'https://user:password@git.acme.dev/repo.git',
  'postgres://postgres:postgres@localhost:5432/app',
  `postgres://app:${random(12)}@localhost/app`,
  `mongodb://\${USER}:\${PASSWORD}@db.acme.dev`,
  `${PEM.join('')}\nMIIEvQIBADANBg...\n-----END`,
  `AI${'za'}SyYOUR_API_KEY_GOES_HERE_xxxxxxxxxxxxx`,
  `sk${'_live_'}your-secret-key-goes-here-now`,
  `api_${'key'} = "your-api-key-2026"`,
  `api_${'key'} = os.environ["OPENAI_API_KEY"]`,
  `to${'ken'}: "$\{{ secrets.GITHUB_TOKEN }}"`,
  `pass${'word'} = "correct-horse-battery"`,
  `pass${'word'}: "Test123!@#"`,
  `export API_${'KEY'}=<your key>`,
  `Author${'ization'}: Bearer $TOKEN_OF_THE_PERSON_2`,
  `aws_secret_access_${'key'} = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`,
  `${['{"alg":"HS256","typ":"JWT"}', '{"sub":"1234567890","name":"John Doe","iat":1516239022}']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')}.${random(43)}`,
  `sha256: ${random(64, HEX)}`,
  `commit ${random(40, HEX)}`,
])('text that only stands for a secret passes: %s', async (text) => {
  expect(await findCredentials([{ path: 'SKILL.md', text }])).toEqual([]);
});

describe('lines', () => {
  const token = `ghp${'_'}${random(36)}`;
  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('are counted with %s, also where invisible characters are taken out', async (_name, end) => {
    const text = ['\ufeff---', 'ﬁne…\u200b', '', halves(token).join('\u200d'), token].join(end);
    const findings = await findCredentials([{ path: 'a.md', text }]);
    expect(findings.map(({ line }) => line)).toEqual([4, 5]);
  });

  test('full-width letters are read as letters', async () => {
    const wide = Array.from(token, (character) =>
      String.fromCharCode(character === '_' ? 0xff3f : character.charCodeAt(0) + 0xfee0),
    ).join('');
    expect(await findCredentials([{ path: 'a.md', text: `one\n${wide}` }])).toMatchObject([
      { rule: 'github', line: 2, match: await sha256(token) },
    ]);
  });
});

test('a text is looked at whole', async () => {
  const filler = 'All work and no play makes a dull skill.\n'.repeat(25_000);
  const findings = await findCredentials([
    { path: 'long.md', text: `${filler}gsk${'_'}${random(52)}` },
    { path: 'description', text: `Deploys with xai${'-'}${random(80)}` },
  ]);
  expect(findings.map(({ path, rule, line }) => [path, rule, line])).toEqual([
    ['long.md', 'groq', 25_001],
    ['description', 'xai-api-key', 1],
  ]);
});

test('a path that holds a credential is refused and not repeated', async () => {
  const token = `ghp${'_'}${random(36)}`;
  const error = await refusal([
    { path: 'SKILL.md', text: 'fine' },
    { path: `notes/${token}.md`, text: `r8${'_'}${random(37)}` },
  ]);
  expect(error.code).toBe('credential');
  expect(error.details.findings?.map(({ path, rule }) => [path, rule])).toEqual([
    ['name of file 2', 'github'],
    ['name of file 2', 'replicate-token'],
  ]);
  expect(`${error.message}${JSON.stringify(error.details)}`).not.toContain(token);
});

test('a refusal names three places and counts the rest', async () => {
  const text = Array.from({ length: 150 }, () => `ghp${'_'}${random(36)}`).join('\n');
  const error = await refusal([{ path: 'a.md', text }]);
  expect(error.message).toBe(
    'Nothing was stored, because a credential stands in a.md line 1 (rule github), a.md line 2 (rule github), a.md line 3 (rule github) and 147 more: take it out and name, for example, an environment variable in its place.',
  );
  expect(error.details.findings).toHaveLength(100);
});

test('many matches cost time in proportion', async () => {
  const text = Array.from({ length: 25_000 }, () => `ghp${'_'}${random(36)}`).join(' ');
  expect(await findCredentials([{ path: 'a.md', text }])).toHaveLength(25_000);
});

test('scanning leaves no entries in the performance timeline', async () => {
  await findCredentials([{ path: 'a.md', text: `ghp${'_'}${random(36)} https://acme.dev` }]);
  expect(performance.getEntriesByType('mark').filter(({ name }) => name.startsWith('@core'))).toEqual([]);
});

describe('confirmation', () => {
  const asked = [{ path: 'SKILL.md', text: `pass${'word'} = "${random(14)}"\n${jwt({ alg: 'HS256' })}` }];
  const refused = [{ path: 'SKILL.md', text: `ghp${'_'}${random(36)}` }];
  const naming = (findings: readonly Finding[]) => findings.map(({ rule, match }) => ({ rule, match }));

  test('of every match by a caller who may lets it pass', async () => {
    const confirmed = naming(await findCredentials(asked));
    expect(confirmed).toHaveLength(2);
    await expect(assertNoCredentials(asked, confirmed, true)).resolves.toBeUndefined();
  });

  test('by another caller counts for nothing', async () => {
    const error = await refusal(asked, naming(await findCredentials(asked)), false);
    expect(error.code).toBe('confirmation_required');
    expect(error.message).toContain('items:confirm');
    expect(error.details.findings).toHaveLength(2);
  });

  test('given earlier counts for a caller who may not', async () => {
    const findings = await findCredentials(asked);
    expect(() => refuseCredentials(findings, naming(findings), false)).not.toThrow();
    expect(() => refuseCredentials(findings, [], false)).toThrow('items:confirm');
  });

  test('of one match leaves the other', async () => {
    const [first, second] = await findCredentials(asked);
    const error = await refusal(asked, naming([first as Finding]), true);
    expect(error.code).toBe('confirmation_required');
    expect(error.message).toContain('repeat the write');
    expect(error.details.findings).toEqual([second]);
  });

  test('of a match under another rule, or of another value, counts for nothing', async () => {
    const [first, second] = naming(await findCredentials(asked)) as [{ rule: string; match: string }, never];
    const other = { rule: first.rule, match: await sha256('another') };
    const error = await refusal(asked, [other, { ...first, rule: 'github' }, second], true);
    expect(error.details.findings?.map(({ rule }) => rule)).toEqual([first.rule]);
  });

  test('never lets a refused one pass', async () => {
    const error = await refusal(refused, naming(await findCredentials(refused)), true);
    expect(error.code).toBe('credential');
  });

  test('is asked for after what is refused, which is named first', async () => {
    const error = await refusal([...asked, ...refused], [], true);
    expect(error.code).toBe('credential');
    expect(error.details.findings?.map(({ level }) => level)).toEqual(['refuse', 'ask', 'ask']);
  });
});

async function refusal(
  texts: Parameters<typeof assertNoCredentials>[0],
  confirmed: Parameters<typeof assertNoCredentials>[1] = [],
  mayConfirm = false,
): Promise<RegistryError> {
  const error = await assertNoCredentials(texts, confirmed, mayConfirm).catch((thrown: unknown) => thrown);
  if (!(error instanceof RegistryError)) throw new Error('expected a RegistryError');
  return error;
}

const corpus = fileURLToPath(new URL('../../../../shared/corpus', import.meta.url));
describe.skipIf(!existsSync(corpus))('the public corpus (skipped where ../shared/corpus is absent)', () => {
  test('238 skills and 199 personas pass without a finding', async () => {
    const paths = readdirSync(corpus, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.includes('.'),
    );
    const skills = paths.filter((path) => path.endsWith('/SKILL.md')).map((path) => dirname(path));
    const personas = paths.filter((path) => /\/agents\/[^/]+\.md$/.test(path));
    expect([skills.length, personas.length]).toEqual([238, 199]);
    const inSkills = paths.filter((path) => skills.some((skill) => path.startsWith(`${skill}/`)));
    const files = [...inSkills, ...personas].filter((path) => /\.[a-z]+$/.test(path));
    const texts = files.map((path) => ({ path, text: readFileSync(join(corpus, path), 'utf8') }));
    expect(await findCredentials(texts)).toEqual([]);
  });
});
