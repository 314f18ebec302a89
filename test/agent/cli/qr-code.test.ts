import { expect, test } from 'vitest';
import { qrCode } from '../../../agent/cli/qr-code.ts';

const LINK = 'https://registry.example.workers.dev/pair?code=BCDF-GHJK';

test('a pairing link is a square that fits a terminal, with its quiet zone', () => {
  const lines = (qrCode(LINK) as string).split('\n');
  const widths = new Set(lines.map((line) => [...line].length));
  expect(widths.size).toBe(1);
  const [width = 0] = widths;
  expect(width).toBeLessThanOrEqual(80);
  expect(lines.length).toBe(Math.ceil(width / 2));
  expect(new Set(lines[0])).toHaveLength(1);
  expect(qrCode(LINK.replace('BCDF', 'BCDG'))).not.toBe(qrCode(LINK));
});

test.each(['http://localhost:8787', 'http://127.0.0.1:8787', 'http://[::1]:8787'])(
  'a link to %s has none: no phone would get there',
  (origin) => expect(qrCode(`${origin}/pair?code=BCDF-GHJK`)).toBeNull(),
);
