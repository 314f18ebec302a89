import { the } from './outcome.js';

const form = the('#consent');
let sent = false;

form.addEventListener('submit', (event) => {
  if (sent) event.preventDefault();
  sent = true;
  form.ariaBusy = 'true';
});

// A page that comes back out of the browser's memory may be answered again; the registry says whether it still waits.
addEventListener('pageshow', () => {
  sent = false;
  form.ariaBusy = 'false';
});
