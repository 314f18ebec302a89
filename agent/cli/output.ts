import { visible } from '../../schema/visible.ts';
import type { Environment } from './environment.ts';
import { type Column, table, wrap } from './text.ts';

/** The one place that writes: results to stdout, everything said to the person to stderr. */
export interface Output {
  /** Whether stdout is a terminal. */
  readonly terminal: boolean;
  /** Columns to fit into. */
  readonly width: number;
  readonly style: Style;
  /** A result, shown with every character visible. */
  line(text?: string): void;
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void;
  /** A result as stable JSON; `lines` puts each on a line of its own. */
  json(value: unknown, options?: { lines?: boolean }): void;
  /** A result byte for byte. */
  bytes(content: Uint8Array): void;
  /** A message. */
  note(text: string): void;
  /** Fits the lines of a message into the terminal; elsewhere they stay whole. */
  wrapped(text: string): string;
  /** Work that counts up: one line redrawn on a terminal, a line now and then elsewhere. */
  progress(what: string, total: number): Progress;
}

interface Progress {
  /** One more is done. */
  step(): void;
  /** A message that must not be drawn over. */
  note(text: string): void;
  end(): void;
}

type Paint = (text: string) => string;

interface Style {
  bold: Paint;
  dim: Paint;
  red: Paint;
  green: Paint;
  yellow: Paint;
}

const BAR = 24;
/** Lines that a long run prints when nobody watches it being redrawn. */
const PLAIN_LINES = 10;

export function createOutput({ env, stdout, stderr }: Environment): Output {
  const terminal = stdout.isTTY === true;
  const width = (terminal && stdout.columns) || 80;
  const style = styles(terminal && !env.NO_COLOR && env.TERM !== 'dumb');
  const line = (text = '') => void stdout.write(`${shown(text)}\n`);
  const note = (text: string) => void stderr.write(`${shown(text)}\n`);

  return {
    terminal,
    width,
    style,
    line,
    note,
    wrapped: (text) =>
      stderr.isTTY
        ? text
            .split('\n')
            .map((each) => wrap(each, stderr.columns || 80))
            .join('\n')
        : text,
    table(columns, rows) {
      const [head, ...lines] = table(columns, rows, width);
      line(style.bold(head as string));
      for (const each of lines) line(each);
    },
    json: (value, { lines = false } = {}) =>
      void stdout.write(`${JSON.stringify(value, null, lines ? 0 : 2)}\n`),
    bytes: (content) => void stdout.write(content),
    progress: (what, total) => (stderr.isTTY ? drawn(what, total) : counted(what, total)),
  };

  function drawn(what: string, total: number): Progress {
    const columns = (stderr.columns ?? 80) - 1;
    let done = 0;
    const erase = () => void stderr.write(ERASE);
    const draw = () => {
      const filled = Math.round((BAR * done) / Math.max(total, 1));
      const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)}`;
      stderr.write(`${ERASE}${`${what} ${bar} ${done}/${total}`.slice(0, columns)}`);
    };
    draw();
    return {
      step() {
        done++;
        draw();
      },
      note(text) {
        erase();
        note(text);
        draw();
      },
      end: erase,
    };
  }

  function counted(what: string, total: number): Progress {
    const every = Math.max(1, Math.ceil(total / PLAIN_LINES));
    let done = 0;
    return {
      step() {
        done++;
        if (total > 1 && (done % every === 0 || done === total)) note(`${what}: ${done} of ${total}`);
      },
      note,
      end() {},
    };
  }
}

/** Foreign text has no escape sequences left; ours are put around it, so only they pass. */
function shown(text: string): string {
  return text
    .split(SEQUENCE)
    .map((part, i) => (i % 2 === 1 ? part : visible(part)))
    .join('');
}

const ESCAPE = '\u001b';
const ERASE = `\r${ESCAPE}[K`;
const SEQUENCE = new RegExp(`(${ESCAPE}\\[(?:1|2|22|31|32|33|39)m)`);

function styles(on: boolean): Style {
  const paint =
    (open: number, close: number): Paint =>
    (text) =>
      on ? `${ESCAPE}[${open}m${text}${ESCAPE}[${close}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
  };
}
