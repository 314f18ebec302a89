import { describe, expect, test } from 'vitest';
import { readRidingSkill } from '../../../schema/riding/skill.ts';
import { file, skill } from './skills.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string | Uint8Array) => readRidingSkill('a.md', text);
function expectDropped(text: string | Uint8Array, why: RegExp): void {
  const { skill: dropped, diagnostics } = read(text);
  expect(dropped).toBeNull();
  expect(diagnostics).toMatchObject([{ severity: 'error', code: 'dropped', path: 'a.md' }]);
  expect(diagnostics[0]?.message).toMatch(why);
}

describe('1.1 fences', () => {
  test('1.1 a byte order mark is skipped for parsing', () => {
    expect(read(bytes('\uFEFF---\nname: a\n---\nbody')).skill).toMatchObject({ name: 'a', body: 'body' });
  });
  test('1.1 CRLF parses, and the body keeps it', () => {
    expect(read('---\r\nname: a\r\n---\r\n\r\nx\r\ny\r\n').skill).toMatchObject({
      name: 'a',
      body: '\r\nx\r\ny\r\n',
    });
  });
  test.each(['--- \t\nname: a\n---\nb', '---\nname: a\n--- \t\nb', '---\nname: a\n---\t\r\nb'])(
    '1.1 blanks behind a fence are allowed: %j',
    (text) => expect(read(text).skill).toMatchObject({ name: 'a', body: 'b' }),
  );
  test.each([
    '\n---\nname: a\n---\n',
    ' ---\nname: a\n---\n',
    '# a\n',
    '',
    '----\nname: a\n---\n',
    '---x\nname: a\n---\n',
    '<!-- c -->\n---\nname: a\n---\n',
  ])('1.1 anything before or beside the first fence means missing front matter: %j', (text) =>
    expectDropped(text, /no front matter/),
  );
  test.each(['----', '---x', ' ---', '...'])('1.1 %j does not close', (line) => {
    expectDropped(`---\nname: a\n${line}\nbody`, /closed|YAML/);
  });
  test('1.1 a rule in the body belongs to the body', () => {
    expect(read('---\nname: a\n---\none\n\n---\n\ntwo').skill?.body).toBe('one\n\n---\n\ntwo');
  });
  test('1.1 the closing fence may end the file, and the body be empty', () => {
    expect(read('---\nname: a\n---').skill).toMatchObject({ body: '', method: '' });
  });
  test('1.1 the body is everything after the fence, a leading blank line included', () => {
    expect(read('---\nname: a\n---\n\n\n  x  \n').skill?.body).toBe('\n\n  x  \n');
  });
  test('1.1 lone carriage returns end no line', () => {
    expectDropped('---\rname: a\r---\rbody', /no front matter/);
    expectDropped('---\nname: a\r---\rbody', /carriage return/);
  });
});

describe('1.2 keys', () => {
  test('1.2 defaults', () => {
    expect(skill('name: a')).toMatchObject({
      description: '',
      referencesTools: [],
      autoInject: true,
      gate: null,
    });
  });
  test('1.2 an explicit or empty null counts as an absent key', () => {
    const front = 'name: a\ndescription:\nreferences_tools: ~\nauto_inject_hint: null\napplies_when:';
    expect(skill(front)).toMatchObject({
      description: '',
      referencesTools: [],
      autoInject: true,
      gate: null,
    });
    expectDropped(file('name: ~'), /no `name`/);
  });
  test('1.2 decorative keys are ignored whatever they hold', () => {
    const front =
      'name: a\napplies_to: [[[1]]]\nreferences_arguments: {a: {b: [null]}}\nreferences_properties: 7\ndelivery: lazy\nlicense: .nan\nbody: false';
    const { skill: kept, diagnostics } = read(file(front));
    expect(kept).toMatchObject({ name: 'a', referencesTools: [], body: 'Do it well.\n' });
    expect(diagnostics).toEqual([]);
  });
  test('1.2 the name need not match the file', () => {
    expect(readRidingSkill('other.md', file('name: find_papers')).skill?.name).toBe('find_papers');
  });
});

describe('1.3 types and failure policy', () => {
  test.each([
    ['42', '42'],
    ['1.0', '1.0'],
    ['0x1F', '0x1F'],
    ['true', 'true'],
    ['.inf', '.inf'],
    ['yes', 'yes'],
  ])('1.3 the scalar %s for a text key is its source text', (written, text) => {
    expect(skill(`name: ${written}\ndescription: ${written}`)).toMatchObject({
      name: text,
      description: text,
    });
  });
  test('1.3 scalars in a list are their source text', () => {
    expect(skill('name: a\nreferences_tools: [1, true, 1.0, "x", ~]').referencesTools).toEqual([
      '1',
      'true',
      '1.0',
      'x',
    ]);
    expect(skill('name: a\nreferences_tools:\n  - 0x10\n  - b').referencesTools).toEqual(['0x10', 'b']);
  });
  test.each(['name: [a]', 'name: {a: b}', 'name: a\ndescription: [x]', 'name: a\ndescription: {x: y}'])(
    '1.3 a list or mapping for a text key drops the file: %j',
    (front) => expectDropped(file(front), /a list or a mapping/),
  );
  test('1.3 one text for references_tools is taken as a list, with a diagnostic', () => {
    const { skill: kept, diagnostics } = read(file('name: a\nreferences_tools: cypher_query'));
    expect(kept?.referencesTools).toEqual(['cypher_query']);
    expect(diagnostics).toMatchObject([{ code: 'taken-as-list', skill: 'a', path: 'a.md' }]);
  });
  test.each(['{a: b}', '[[a]]', '[{a: b}]'])('1.3 references_tools: %s drops the file', (value) => {
    expectDropped(file(`name: a\nreferences_tools: ${value}`), /`references_tools`/);
  });
  test.each(['"false"', 'no', '0', '[]', 'False_'])('1.3 auto_inject_hint: %s drops the file', (value) => {
    expectDropped(file(`name: a\nauto_inject_hint: ${value}`), /`auto_inject_hint`/);
  });
  test('1.3 auto_inject_hint: false is kept', () => {
    expect(skill('name: a\nauto_inject_hint: false').autoInject).toBe(false);
  });
  test.each([
    'applies_when: Paper',
    'applies_when: [tool_registered]',
    'applies_when: {graph_has_nodetype: [A]}',
    'applies_when: {graph_has_node_type: Paper}',
    'applies_when: {graph_has_node_type: [1]}',
    'applies_when: {graph_has_property: {node_type: A}}',
    'applies_when: {graph_has_property: {node_type: A, prop_name: b, more: c}}',
    'applies_when: {graph_has_property: [A, b]}',
    'applies_when: {tool_registered: [grep]}',
    'applies_when: {tool_registered: }',
    'applies_when: {extension_enabled: true}',
    'applies_when: {toString: x}',
  ])('1.3 kept but inactive, with a diagnostic that names the accepted keys: %j', (front) => {
    const { skill: kept, diagnostics } = read(file(`name: a\n${front}`));
    expect(kept?.gate).toMatchObject([{ predicate: 'unreadable' }]);
    expect(diagnostics).toMatchObject([{ code: 'unreadable-gate', skill: 'a' }]);
    expect(diagnostics[0]?.message).toMatch(/`graph_has_node_type`.*`extension_enabled`/);
  });
  test('1.3 applies_when: {} has no clauses', () => {
    expect(skill('name: a\napplies_when: {}').gate).toEqual([]);
  });
  test.each([
    ['- a\n- b', /YAML/],
    ['just text', /YAML/],
    ['name: a\nname: b', /repeats a key/],
    ['name: [a', /YAML/],
    ['description: x', /no `name`/],
    ['', /no `name`/],
    ['name: ""', /blank/],
    ['name: " \\u00a0\\u0085"', /blank/],
    ['name: "a\\nb"', /line break/],
    ['name: "a\\u2028b"', /line break/],
    ['name: "a --> b"', /-->/],
    ['name: &x a\ndescription: *x', /alias/],
    ['name: !!str a', /tag/],
  ])('1.3 %j drops the file', (front, why) => expectDropped(file(front), why));
  test('1.3 not UTF-8, and a NUL, drop the file', () => {
    expectDropped(new Uint8Array([...bytes('---\nname: a\n---\n'), 0xff]), /UTF-8/);
    expectDropped('---\nname: a\n---\n\0', /UTF-8/);
  });
  test('bug 2: an unquoted colon suggests quoting', () => {
    expectDropped(file('name: a\ndescription: TRIGGER: when it fits'), /colon; put it in double quotes/);
  });
  test('1.3 escaped halves of a surrogate pair become readable text', () => {
    const { description, name, referencesTools } = skill(
      'name: "a\\ud800"\ndescription: "b\\udc00"\nreferences_tools: ["\\ud800"]',
    );
    for (const text of [description, name, ...referencesTools]) expect(text.isWellFormed()).toBe(true);
  });
  test.each([
    [4096, []],
    [4097, ['long-body']],
    [16_384, ['long-body']],
    [16_385, ['truncated-body']],
  ])('1.3 a trimmed body of %i bytes', (length, codes) => {
    const { skill: kept, diagnostics } = read(file('name: a', `\n\n${'x'.repeat(length)}\n\n`));
    expect(kept?.body).toHaveLength(length + 4);
    expect(diagnostics.map(({ code }) => code)).toEqual(codes);
  });
});

describe('3.5 size', () => {
  const MARKER = '\n\n[skill body truncated at 16 KB]';
  test('3.5 exactly 16,384 bytes pass whole', () => {
    expect(skill('name: a', 'x'.repeat(16_384)).method).toBe('x'.repeat(16_384));
  });
  test('3.5 one byte more is cut, and with its marker is 16,384 bytes', () => {
    const { method, body } = skill('name: a', 'x'.repeat(16_385));
    expect(method).toBe('x'.repeat(16_384 - MARKER.length) + MARKER);
    expect(body).toHaveLength(16_385);
  });
  test.each([
    ['é', 2],
    ['€', 3],
    ['😀', 4],
  ])('3.5 %s at every offset from the edge is kept whole or left out', (char, size) => {
    for (let lead = 0; lead < size; lead++) {
      const { method } = skill('name: a', 'x'.repeat(lead) + char.repeat(20_000));
      const length = bytes(method).length;
      expect(length).toBeLessThanOrEqual(16_384);
      expect(length).toBeGreaterThan(16_384 - size);
      expect(method.replaceAll(char, '')).toBe('x'.repeat(lead) + MARKER);
    }
  });
  test('3.5 a cut inside a code fence only cuts', () => {
    const body = `\`\`\`js\n${'const a = 1;\n'.repeat(2000)}\`\`\`\n`;
    const { method } = skill('name: a', body);
    expect(method.endsWith(MARKER)).toBe(true);
    expect(body.startsWith(method.slice(0, -MARKER.length))).toBe(true);
  });
  test('3.5 white space around the body does not count', () => {
    expect(skill('name: a', `${'\n '.repeat(9000)}${'x'.repeat(16_384)}\u00a0\u2003`).method).toBe(
      'x'.repeat(16_384),
    );
  });
  test('3.2 trimming takes Unicode white space, and only at the ends', () => {
    expect(skill('name: a', '\u0085\u2028\u3000 a \n b \u00a0\t').method).toBe('a \n b');
    expect(skill('name: a', '\uFEFFa').method).toBe('\uFEFFa');
  });
});
