import { the } from './outcome.js';

/**
 * Shows recovery codes, and lets them be copied, downloaded and printed.
 * @param {HTMLElement} around holds the markup of `ShownCodes`
 * @param {readonly string[]} codes
 */
export function showCodes(around, codes) {
  const place = the('[data-shown=codes]', around);
  the('ol', place).replaceChildren(
    ...codes.map((code) => {
      const item = document.createElement('li');
      item.textContent = code;
      return item;
    }),
  );
  const title = `Recovery codes of Repertoire at ${location.host}; each works once.`;
  the('.printed', place).textContent = title;
  const text = `${title}\n\n${codes.join('\n')}\n`;
  const told = the('.outcome', place);
  the('[data-copy]', place).onclick = () => copy(text, told);
  the('[data-download]', place).onclick = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    link.download = 'repertoire-recovery-codes.txt';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    told.textContent = 'Downloaded.';
  };
  the('[data-print]', place).onclick = () => print();
}

/**
 * Shows what is shown only now, such as a token.
 * @param {HTMLElement} around holds the markup of `ShownOnce`
 * @param {string} text
 */
export function showOnce(around, text) {
  const place = the('[data-shown=text]', around);
  place.hidden = false;
  the('output', place).textContent = text;
  the('[data-copy]', place).onclick = () => copy(text, the('.outcome', place));
  place.focus();
}

/**
 * @param {string} text
 * @param {HTMLElement} told
 */
async function copy(text, told) {
  told.textContent = await navigator.clipboard.writeText(text).then(
    () => 'Copied.',
    () => 'This browser did not let it be copied; select it by hand.',
  );
}
