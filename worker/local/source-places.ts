import type { SourceMap } from 'node:module';
import { mapOfBundle } from './bundle.ts';

/** A place in the one module that Miniflare makes of a script, as a stack names it. */
const PLACE = /file:\/\/\S*\/script-0\.mjs:(\d+):(\d+)/g;

/** A log whose lines name places in the sources where they would name places in the bundle. */
export interface PlacedLog {
  write(line: string): void;
  /** Resolves once every line has been handed on. */
  written(): Promise<void>;
}

/** Lines keep their order. The map is made when a line first needs it: most runs end without. */
export function placeInSources(
  write: (line: string) => void,
  { entry, code }: { entry: string; code: string },
): PlacedLog {
  let map: Promise<SourceMap | null> | null = null;
  let last: Promise<void> | null = null;

  async function writePlaced(line: string, before: Promise<void> | null): Promise<void> {
    map ??= mapOfBundle(entry, code).catch(() => null);
    const known = await map;
    await before;
    write(known ? line.replace(PLACE, (place, ...at) => originOf(known, at) ?? place) : line);
  }

  return {
    write(line) {
      const isPlaced = line.search(PLACE) >= 0;
      if (!isPlaced && !last) return write(line);
      const turn = isPlaced ? writePlaced(line, last) : (last as Promise<void>).then(() => write(line));
      last = turn;
      void turn.finally(() => {
        if (last === turn) last = null;
      });
    },
    written: async () => {
      await last;
    },
  };
}

function originOf(map: SourceMap, [line, column]: readonly unknown[]): string | null {
  const origin = map.findOrigin(Number(line), Number(column));
  return 'fileName' in origin ? `${origin.fileName}:${origin.lineNumber}:${origin.columnNumber}` : null;
}
