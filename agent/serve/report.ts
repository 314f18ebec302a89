import type { Diagnostic } from '../../schema/riding/diagnostic.ts';

/** Tells diagnostics to the person, one line each: what is new since the report before on the same matter. */
export type Report = (matter: string, diagnostics: readonly Diagnostic[]) => void;

export function createReport(log: (sentence: string) => void, { debug }: { debug: boolean }): Report {
  const told = new Map<string, ReadonlySet<string>>();
  return (matter, diagnostics) => {
    const lines = diagnostics.filter(({ severity }) => debug || severity !== 'debug').map(lineOf);
    const before = told.get(matter);
    for (const line of new Set(lines)) if (!before?.has(line)) log(line);
    told.set(matter, new Set(lines));
  };
}

/** A diagnostic on one line, with the file that it is about. */
export function lineOf({ severity, message, path }: Diagnostic): string {
  const about = path === undefined || message.includes(path) ? '' : `${path}: `;
  return `${severity}: ${about}${message.replace(/\s*\n\s*/g, ' ')}`;
}
