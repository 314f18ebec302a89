/** A skill that comes with the product: its name, and its file as text, so that every bundler can carry it. */
export interface Registration {
  readonly key: string;
  readonly text: string;
}

const SKILLS = `---
name: skills
description: >-
  TRIGGER before the first step of a task that a description fits, and when the user names a skill. SKIP when
  it was loaded in this conversation and has not changed since.
applies_when:
  tool_registered: skills
---

1. Choose by description. When none is in front of you, or the list may be old, call with \`action\` "list".
2. Load before you act: \`action\` "get" with the \`name\`. Of two that fit, take the more specific one.
3. Read to the end. While an answer holds \`next_start\`, call again with the same \`name\` and \`start\` set to it; half a
   method is not the method.
4. Then follow it, above your own habits. What the user says in this conversation stands above both.
`;

const SKILL_EDIT = `---
name: skill_edit
description: >-
  TRIGGER when the user wants a skill or persona written down, changed, hidden or shown again. SKIP for advice that
  holds in this conversation only, and when nobody asked for a change.
applies_when:
  tool_registered: skill_edit
---

1. Read the item first, and pass the revision that you read as \`expected_revision\`. When the edit is refused because
   the item has changed meanwhile, read again, bring both changes together, and try once more.
2. Change as little as does it: \`description\`, \`instructions\`, or single entries of \`files\`. A file that is not named
   stays; null removes it.
3. \`description\` is what its readers choose it by: say when to use it and when not, in the words that a task would use.
   \`instructions\` say how, in steps, short enough to be read whole.
4. Write no key, token or password into an item; say where it is kept instead.
5. Show the user what you are about to write when they have not worded it themselves.
`;

const ANSWERS_IN_PAGES = `---
name: answers_in_pages
description: >-
  TRIGGER when an answer of a tool here is long, is cut, or names a way to go on. SKIP for short answers.
references_tools: [skills]
applies_when:
  tool_registered: skills
---

- A tool's input schema says whether it answers in pages, and what the parameter is called; do not guess one.
- Narrow the call first. A filter in the call is cheaper than a page that is read to be thrown away.
- Go on until nothing is left to go on with before you say that something is not there, or how many there are.
- Take what an answer gives you to go on with as it is; never work one out.
`;

const TOOLS_AT_ONCE = `---
name: tools_at_once
description: >-
  TRIGGER when your client shows tools by name only, with schemas on demand. SKIP when you see all descriptions.
references_tools: [skills]
applies_when:
  tool_registered: skills
---

- Fetch the schemas of all tools of this server that the task may need in one request, not one by one.
- Do it before the first call. What a tool is for, and the method for using it, is in its description, which a name
  alone does not show.
`;

/** Lowest layer: a skill for each of Repertoire's own tools. */
export const BUNDLED: readonly Registration[] = [
  { key: 'skills', text: SKILLS },
  { key: 'skill_edit', text: SKILL_EDIT },
];

/** Second layer: what helps with any server, whatever it is about. */
export const FRAMEWORK: readonly Registration[] = [
  { key: 'answers_in_pages', text: ANSWERS_IN_PAGES },
  { key: 'tools_at_once', text: TOOLS_AT_ONCE },
];
