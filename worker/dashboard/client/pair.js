import { attempt, the } from './outcome.js';
import { sendChecked } from './send.js';

const pairing = the('#pairing');
const code = encodeURIComponent(pairing.dataset.code ?? '');

for (const button of pairing.querySelectorAll('[data-decision]')) {
  if (!(button instanceof HTMLElement)) continue;
  button.addEventListener('click', () =>
    attempt(pairing, async () => {
      await sendChecked('POST', `/api/v1/pairings/${code}/${button.dataset.decision}`, {});
      the('#deciding').hidden = true;
      const done = the(`#${button.dataset.decision}-done`);
      done.hidden = false;
      done.focus();
    }),
  );
}
