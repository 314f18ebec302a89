import type { Diagnostic } from '../../schema/riding/diagnostic.ts';

/** Tells diagnostics to the person, one line each: what is new since the report before on the same matter. */
export type Report = (matter: string, diagnostics: readonly Diagnostic[]) => void;

export function createReport(log: (sentence: string) => void, { debug }: { debug: boolean }): Report {
  const told = new Map<string, ReadonlySet<string>>();
  return (matter, diagnostics) => {
    const lines = diagnostics
      .filter(({ severity }) => debug || severity !== 'debug')
      .map(({ severity, message }) => `${severity}: ${message.replace(/\s*\n\s*/g, ' ')}`);
    const before = told.get(matter);
    for (const line of new Set(lines)) if (!before?.has(line)) log(line);
    told.set(matter, new Set(lines));
  };
}
