const CONSONANTS = 'bdfghjklmnprstvz';
const VOWELS = 'aiou';
const WORDS = 4;

/**
 * A key's thumbprint (base64url) as four pronounceable words, for a person to compare on two screens: its first 64 bits
 * as proquints (arXiv:0901.4016, five letters for each 16 bits).
 */
export function fingerprintWords(thumbprint: string): string {
  const bytes = atob(thumbprint.replaceAll('-', '+').replaceAll('_', '/'));
  const words: string[] = [];
  for (let i = 0; i < WORDS; i++) {
    words.push(proquint((bytes.charCodeAt(2 * i) << 8) | bytes.charCodeAt(2 * i + 1)));
  }
  return words.join('-');
}

function proquint(bits: number): string {
  const consonant = (shift: number) => CONSONANTS[(bits >> shift) & 15];
  const vowel = (shift: number) => VOWELS[(bits >> shift) & 3];
  return `${consonant(12)}${vowel(10)}${consonant(6)}${vowel(4)}${consonant(0)}`;
}
