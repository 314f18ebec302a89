import { describe, expect, test } from 'vitest';
import { oneLine, visible } from '../../schema/visible.ts';

describe('foreign text', () => {
  test('shows controls, bidi and zero-width characters as their code', () => {
    expect(visible('a\u001b[31mb')).toBe('a<U+001B>[31mb');
    expect(visible('\u202Eevil\u200B')).toBe('<U+202E>evil<U+200B>');
    expect(visible('\u{E0041}')).toBe('<U+E0041>');
    expect(visible('\u009b1m')).toBe('<U+009B>1m');
  });

  test('keeps line breaks and tabs, letters of every script and emoji', () => {
    const text = 'one\ttwo\nдва 三 é 🎉';
    expect(visible(text)).toBe(text);
    expect(visible('a\r\nb')).toBe('a\nb');
    expect(oneLine(' a \n b\t\tc ')).toBe('a b c');
  });
});
