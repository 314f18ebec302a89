import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkSkills } from '../../../agent/serve/check.ts';
import { openProject } from '../../../agent/serve/project.ts';
import { skillFile } from '../../riding/skill-file.ts';
import { folder, writeProject } from './harness.ts';

const manifest = { name: 'x', command: 'x', skills: true };

/** The project layer as it is read just now. */
function projectLayer(path: string) {
  const { layers, diagnostics } = openProject(path, { cwd: '/', env: {}, state: null }).layers('skills');
  const names = layers.find(({ kind }) => kind === 'project')?.skills.map(({ name }) => name) ?? [];
  return { names, said: diagnostics.map(({ message }) => message) };
}

test('1.4 one file that cannot be read never takes its neighbours along, and each is told of', () => {
  const { path, own } = writeProject({ manifest, skills: { 'good.md': skillFile({ name: 'good' }) } });
  symlinkSync('loop.md', join(own, 'loop.md'));
  symlinkSync('nowhere', join(own, 'nowhere.md'));
  writeFileSync(join(own, 'huge.md'), skillFile({ name: 'huge' }));
  truncateSync(join(own, 'huge.md'), 100 * 1024 * 1024);
  mkdirSync(join(own, 'folder.md'));
  execFileSync('mkfifo', [join(own, 'pipe.md')]);
  const expected = [
    `${own}/huge.md is left out: it could not be read (it is larger than 4096 KiB; make it smaller).`,
    `${own}/loop.md is left out: it could not be read (it is a link that leads in a circle).`,
    `${own}/nowhere.md is left out: it could not be read (it does not exist).`,
  ];
  const { names, said } = projectLayer(path);
  expect(names).toEqual(['good']);
  expect(said).toEqual(expected);
  const checked = checkSkills([own, join(own, 'pipe.md'), join(own, 'loop.md')], null);
  expect(checked.skills.map(({ name }) => name)).toEqual(['good']);
  expect(checked.diagnostics.map(({ message }) => message)).toEqual([
    ...expected,
    `${own}/pipe.md is left out: it could not be read (it is no regular file).`,
    `${own}/loop.md is a link that leads in a circle.`,
  ]);
});

test('2 what is no directory in the place of the project directory is a warning, whatever it is', () => {
  const { path, own } = writeProject({ manifest });
  symlinkSync('server.skills', own);
  const said = [
    `${own} is no directory, so that the project has no skills of its own; a directory belongs there.`,
  ];
  expect(projectLayer(path)).toEqual({ names: [], said });
});

test('a directory of a declared path that goes away is told of', () => {
  const directory = folder();
  const declared = join(directory, 'more');
  mkdirSync(declared);
  writeFileSync(join(declared, 'm.md'), skillFile({ name: 'm' }));
  const { path } = writeProject({ manifest: { ...manifest, skills: [declared] }, directory });
  const project = openProject(path, { cwd: '/', env: {}, state: null });
  expect(project.layers('skills')).toMatchObject({ diagnostics: [], layers: [{ skills: [{ name: 'm' }] }] });
  execFileSync('rm', ['-r', declared]);
  const message = `None of the skills in ${declared} rides, since it could not be read: ${declared} does not exist.`;
  expect(project.layers('skills')).toMatchObject({ diagnostics: [{ message }], layers: [{ skills: [] }] });
});

test('a manifest is a file of bounded size, or a sentence with its name', () => {
  const directory = folder();
  const opened = (name: string) => () => openProject(name, { cwd: directory, env: {}, state: null });
  mkdirSync(join(directory, 'folder.yaml'));
  execFileSync('mkfifo', [join(directory, 'pipe.yaml')]);
  writeFileSync(join(directory, 'huge.yaml'), '');
  truncateSync(join(directory, 'huge.yaml'), 10 * 1024 * 1024 * 1024);
  writeFileSync(join(directory, 'latin.yaml'), Uint8Array.of(0xff));
  expect(opened('folder.yaml')).toThrow(`${directory}/folder.yaml is a folder, and a file is needed.`);
  expect(opened('pipe.yaml')).toThrow(`${directory}/pipe.yaml is no regular file.`);
  expect(opened('huge.yaml')).toThrow(`${directory}/huge.yaml is larger than 256 KiB; make it smaller.`);
  expect(opened('latin.yaml')).toThrow(`${directory}/latin.yaml is no UTF-8 text; save it as UTF-8.`);
});
