import { the } from './outcome.js';

/** Milliseconds before an answer counts: nobody reads faster. */
const READING = 600;

const form = the('#consent');
let sent = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let reading;

form.addEventListener('submit', (event) => {
  if (sent || reading !== undefined) return event.preventDefault();
  sent = true;
  form.ariaBusy = 'true';
});

// A page elsewhere can put this one under the pointer between the two clicks of a double click, so that the second one
// would allow what nobody has seen.
addEventListener('focus', read);

// A page that comes back out of the browser's memory may be answered again; the registry says whether it still waits.
addEventListener('pageshow', () => {
  sent = false;
  form.ariaBusy = 'false';
  read();
});

read();

function read() {
  clearTimeout(reading);
  reading = setTimeout(() => {
    reading = undefined;
    offer(true);
  }, READING);
  offer(false);
}

/** @param {boolean} enabled */
function offer(enabled) {
  for (const button of form.querySelectorAll('button')) button.ariaDisabled = String(!enabled);
}
