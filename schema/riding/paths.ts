/** A declared path as an absolute one: as is, under `home` for `~/`, or joined to the manifest's directory. */
export declare function resolveSkillsPath(
  raw: string,
  place: { directory: string; home: string | undefined },
): string;

/** The project layer's directory, `<stem>.skills` beside the manifest. */
export declare function projectDirectory(manifest: string): string;
