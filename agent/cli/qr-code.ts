import { renderUnicodeCompact } from 'uqr';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/**
 * A link as a QR code for a terminal: two rows of squares in a line of text, with a quiet zone around. Null for a link to
 * this very machine, which leads nowhere from the phone that scans it.
 */
export function qrCode(link: string): string | null {
  return LOOPBACK.includes(new URL(link).hostname) ? null : renderUnicodeCompact(link, { border: 2 });
}
