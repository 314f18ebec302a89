import type { Finding } from '../../schema/errors.ts';

export interface CredentialRule {
  readonly id: string;
  readonly level: Finding['level'];
  /** A match's value is its first group, or the whole. */
  readonly pattern: RegExp;
}

/** Joins a name and a quoted or bare value: `name = "value"`, `name: value`, `"name" => 'value'`. */
const IS = '["\'`\\])]{0,2}\\s{0,3}(?:=>|:=|=|:)\\s{0,3}["\'`]?';

/** What a made-up value seldom is: it has a letter and a digit, and none of the words that docs put in its place. */
const RANDOM =
  '(?=[^\\s"\'`]{0,200}\\d)(?=[^\\s"\'`]{0,200}[a-zA-Z])(?![^\\s"\'`]{0,200}(?:pass|secret|test|token|123))';

/**
 * What the rules of secretlint miss. Every repetition is bounded, so that hostile text costs linear time. Those of
 * services follow gitleaks (MIT) or the service's own format; `refuse` is for formats that nothing else has.
 */
export const OWN_RULES: readonly CredentialRule[] = [
  {
    id: 'private-key',
    level: 'refuse',
    // The first long run of base64 within the key's headers and however the text quotes or indents its lines.
    pattern: /-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,240}?([A-Za-z0-9+/]{40,80})/g,
  },
  {
    id: 'age-secret-key',
    level: 'refuse',
    pattern: /AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}(?!\w)/g,
  },
  {
    id: 'google-api-key',
    level: 'refuse',
    pattern: /(?<![\w-])AIza[\w-]{35}(?![\w-])/g,
  },
  {
    id: 'google-oauth-secret',
    level: 'refuse',
    pattern: /GOCSPX-[\w-]{28}(?![\w-])/g,
  },
  {
    id: 'stripe-webhook-secret',
    level: 'refuse',
    pattern: /(?<!\w)whsec_[A-Za-z0-9+/]{32,100}/g,
  },
  {
    id: 'cloudflare-origin-ca-key',
    level: 'refuse',
    pattern: /(?<!\w)v1\.0-[a-f0-9]{24}-[a-f0-9]{146}(?!\w)/g,
  },
  {
    id: 'cloudflare-api-key',
    level: 'refuse',
    pattern: new RegExp(
      `(?:cloudflare|(?<![a-z])cf)[\\w.-]{0,20}(?:key|token)${IS}([a-f0-9]{37}|[\\w-]{40})(?![\\w-])`,
      'gi',
    ),
  },
  {
    id: 'discord-bot-token',
    level: 'refuse',
    // The first part is the bot's id, a number, in base64.
    pattern: /(?<![\w.-])(?:M[DTjz]|N[DTjz]|O[DT])[\w-]{21,26}\.[\w-]{6}\.[\w-]{27,45}(?![\w.-])/g,
  },
  {
    id: 'discord-webhook',
    level: 'refuse',
    pattern: /discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/[\w-]{60,80}/g,
  },
  {
    id: 'discord-client-secret',
    level: 'refuse',
    pattern: new RegExp(
      `discord[\\w.-]{0,20}(?:secret|token)${IS}([\\w-]{32}|[a-f0-9]{64})(?![\\w.-])`,
      'gi',
    ),
  },
  {
    id: 'azure-client-secret',
    level: 'refuse',
    pattern: /(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/g,
  },
  {
    id: 'azure-access-key',
    level: 'refuse',
    pattern: /(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=)/g,
  },
  {
    id: 'twilio-api-key',
    level: 'refuse',
    pattern: /(?<!\w)SK[0-9a-f]{32}(?!\w)/g,
  },
  {
    id: 'twilio-auth-token',
    level: 'refuse',
    pattern: new RegExp(`twilio[\\w.-]{0,20}token${IS}([0-9a-f]{32})(?!\\w)`, 'gi'),
  },
  {
    id: 'huggingface-token',
    level: 'refuse',
    pattern: /(?<!\w)(?:hf_|api_org_)[A-Za-z0-9]{34}(?!\w)/g,
  },
  {
    id: 'turso-token',
    level: 'refuse',
    // JSON Web Tokens signed with EdDSA, in both orders of the header.
    pattern:
      /(?<!\w)eyJ(?:hbGciOiJFZERTQSI|0eXAiOiJKV1QiLCJhbGciOiJFZERTQSJ9)[\w-]{0,60}\.[\w-]{10,2000}\.[\w-]{60,}/g,
  },
  {
    id: 'xai-api-key',
    level: 'refuse',
    pattern: /(?<![\w-])xai-[A-Za-z0-9]{70,100}(?!\w)/g,
  },
  {
    id: 'supabase-key',
    level: 'refuse',
    pattern: /(?<!\w)(?:sbp_(?:v0_|oauth_)?[a-f0-9]{40}|sb_secret_[\w-]{30,60})(?!\w)/g,
  },
  {
    id: 'telegram-bot-token',
    level: 'refuse',
    pattern: /(?<![\w:])\d{8,10}:AA[\w-]{33}(?![\w-])/g,
  },
  {
    id: 'anthropic-account-key',
    level: 'refuse',
    pattern: /(?<!\w)sk-ant-(?:admin|oat|ort)\d\d-[\w-]{80,140}/g,
  },
  {
    id: 'openrouter-key',
    level: 'refuse',
    pattern: /(?<!\w)sk-or-v1-[0-9a-f]{64}(?!\w)/g,
  },
  {
    id: 'pypi-token',
    level: 'refuse',
    pattern: /(?<!\w)pypi-AgE[\w-]{60,1000}/g,
  },
  {
    id: 'digitalocean-token',
    level: 'refuse',
    pattern: /(?<!\w)do[opr]_v1_[a-f0-9]{64}(?!\w)/g,
  },
  {
    id: 'replicate-token',
    level: 'refuse',
    pattern: /(?<!\w)r8_[A-Za-z0-9]{37}(?!\w)/g,
  },
  {
    id: 'jwt',
    level: 'ask',
    pattern: /(?<!\w)eyJ[\w-]{14,1000}\.eyJ[\w-]{10,4000}\.[\w-]{20,1000}/g,
  },
  {
    id: 'auth-header',
    level: 'ask',
    pattern: new RegExp(
      `(?:authorization${IS}(?:bearer|basic|token|apikey)\\s|(?:x-api-key|private-token)${IS})\\s{0,3}([\\w.~+/=-]{16,4000})`,
      'gi',
    ),
  },
  {
    id: 'npmrc-token',
    level: 'ask',
    pattern: new RegExp(`_authToken=(${RANDOM}[^\\s"'\`]{16,200})`, 'g'),
  },
  {
    id: 'password',
    level: 'ask',
    pattern: new RegExp(
      `(?<=(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?key|access_?key|credential)["'\`\\])]{0,2}[^\\S\\n]{0,3})(?:=>|:=|=|:)[^\\S\\n]{0,3}["'\`](${RANDOM}[^\\s"'\`]{8,200})["'\`]`,
      'gi',
    ),
  },
  {
    id: 'environment-secret',
    level: 'ask',
    pattern: new RegExp(
      `(?<=PASSWORD|PASSWD|PASSPHRASE|PWD|SECRET|TOKEN|KEY|CREDENTIAL)=(${RANDOM}[^\\s"'\`;,&|()]{8,200})(?=\\s|$)`,
      'g',
    ),
  },
];

/**
 * The rules of secretlint that are used, by the last part of their id. `words` are what every match contains: where
 * none occurs, the rule is not run.
 */
export const SECRETLINT_RULES: Readonly<
  Record<string, { readonly level: Finding['level']; readonly words: readonly string[] }>
> = {
  aws: { level: 'refuse', words: ['ecret', 'ECRET'] },
  npm: { level: 'refuse', words: ['npm_'] },
  basicauth: { level: 'ask', words: ['://'] },
  slack: { level: 'refuse', words: ['xox', 'xapp-', '://'] },
  sendgrid: { level: 'refuse', words: ['SG.'] },
  shopify: { level: 'refuse', words: ['shppa_', 'shpca_', 'shpat_', 'shpss_'] },
  stripe: { level: 'refuse', words: ['sk_live', 'sk_test', 'rk_live', 'rk_test'] },
  github: { level: 'refuse', words: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'] },
  gitlab: { level: 'refuse', words: ['glpat-'] },
  grafana: { level: 'refuse', words: ['glc_', 'glsa_'] },
  openai: { level: 'refuse', words: ['T3BlbkFJ'] },
  anthropic: { level: 'refuse', words: ['sk-ant-'] },
  groq: { level: 'refuse', words: ['gsk_'] },
  huggingface: { level: 'refuse', words: ['hf_'] },
  linear: { level: 'refuse', words: ['lin_api_'] },
  notion: { level: 'refuse', words: ['ntn_'] },
  '1password': { level: 'refuse', words: ['ops_ey'] },
  'database-connection-string': { level: 'ask', words: ['://'] },
  'hashicorp-vault': { level: 'refuse', words: ['hvs.', 'hvb.', 'hvr.'] },
  vercel: { level: 'refuse', words: ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_'] },
  databricks: { level: 'refuse', words: ['dapi'] },
  docker: { level: 'refuse', words: ['dckr_pat_'] },
  figma: { level: 'refuse', words: ['figd_'] },
  cloudflare: { level: 'refuse', words: ['cfk_', 'cfut_', 'cfat_'] },
  tailscale: { level: 'refuse', words: ['tskey-'] },
};
