/** What a scenario must show: at least so many checks passed, and none failed but those that need something not offered. */
export interface Applies {
  passed: number;
  /** Checks that cannot pass, each with what they need. */
  cannot?: Readonly<Record<string, string>>;
}

const FIXTURE = 'needs the fixture tools, resources or prompts of a test server';
const NOT_OFFERED = 'is about what the server does not declare';
const EMPTY = 'shows nothing without sessions or fixture tools: it passes on a server that does nothing';

function all(reason: string, ...scenarios: string[]): Record<string, string> {
  return Object.fromEntries(scenarios.map((scenario) => [scenario, reason]));
}

const FIXTURES = [
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
  'json-schema-2020-12',
];

/** Every server scenario of the pinned conformance program, by the revision whose requirements name it. */
export const EXPECTED = {
  '2025-11-25': {
    applies: {
      'server-initialize': { passed: 2 },
      ping: { passed: 2 },
      'tools-list': { passed: 3 },
      'resources-list': { passed: 2 },
      'prompts-list': { passed: 2 },
      'dns-rebinding-protection': { passed: 2 },
    },
    doesNotApply: {
      ...all(
        FIXTURE,
        ...FIXTURES,
        'tools-call-with-logging',
        'tools-call-sampling',
        'tools-call-elicitation',
      ),
      ...all(FIXTURE, 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums'),
      ...all(
        NOT_OFFERED,
        'logging-set-level',
        'completion-complete',
        'resources-subscribe',
        'resources-unsubscribe',
      ),
      ...all(EMPTY, 'server-sse-multiple-streams', 'server-session-lifecycle', 'server-sse-polling'),
    },
  },
  '2026-07-28': {
    applies: {
      'server-stateless': {
        passed: 24,
        cannot: all(
          FIXTURE,
          'sep-2575-server-rejects-undeclared-capability',
          'sep-2575-missing-capability-http-400',
          'sep-2575-http-server-no-independent-requests-on-stream',
          'sep-2575-server-no-log-without-loglevel',
        ),
      },
      'tools-list': { passed: 4 },
      'resources-list': { passed: 2 },
      'prompts-list': { passed: 2 },
      'sep-2164-resource-not-found': { passed: 4 },
      'dns-rebinding-protection': { passed: 2 },
      caching: { passed: 8 },
      'input-required-result-unsupported-methods': { passed: 2 },
      'http-header-validation': { passed: 14 },
    },
    doesNotApply: {
      ...all(FIXTURE, ...FIXTURES, 'http-custom-header-server-validation'),
      ...all(
        FIXTURE,
        'input-required-result-basic-elicitation',
        'input-required-result-basic-sampling',
        'input-required-result-basic-list-roots',
        'input-required-result-request-state',
        'input-required-result-multiple-input-requests',
        'input-required-result-multi-round',
        'input-required-result-non-tool-request',
        'input-required-result-result-type',
        'input-required-result-tampered-state',
        'input-required-result-capability-check',
      ),
      ...all(
        EMPTY,
        'input-required-result-missing-input-response',
        'input-required-result-ignore-extra-params',
        'input-required-result-validate-input',
        'server-sse-multiple-streams',
      ),
      ...all(
        NOT_OFFERED,
        'completion-complete',
        'tasks-lifecycle',
        'tasks-capability-negotiation',
        'tasks-wire-fields',
        'tasks-request-state-removal',
        'tasks-mrtr-input',
        'tasks-request-headers',
        'tasks-dispatch-and-envelope',
        'tasks-status-notifications',
        'tasks-required-task-error',
        'tasks-mrtr-composition',
      ),
    },
  },
} as const satisfies Record<
  string,
  { applies: Record<string, Applies>; doesNotApply: Record<string, string> }
>;

/** Scenarios of the Skills extension; they belong to no revision's requirements. */
export const SKILLS = {
  'sep-2640-skills-enumeration': { passed: 32 },
  'sep-2640-skills-manifest': { passed: 6 },
  'sep-2640-skills-directory': { passed: 7 },
} as const satisfies Record<string, Applies>;

/** Every scenario of an authorization server. */
export const AUTHORIZATION = {
  'authorization-server-metadata-endpoint': { passed: 2 },
  'authorization-code-grant': { passed: 1 },
} as const satisfies Record<string, Applies>;
