import { expect, test } from 'vitest';
import { compareBytes } from '../schema/digest.ts';

test('byte order', () => expect(compareBytes('a', 'b')).toBeLessThan(0));
