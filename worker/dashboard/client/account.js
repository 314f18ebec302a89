import { attempt, field, onSubmit, tell, the } from './outcome.js';
import { addPasskey, checkPasskey, nameOfThisDevice } from './passkey.js';
import { sendChecked } from './send.js';
import { showCodes, showOnce } from './shown-once.js';

/** What the page tells once it was loaded again. */
const TOLD = 'told';

for (const button of document.querySelectorAll('[data-revoke]')) {
  if (!(button instanceof HTMLElement)) continue;
  const { revoke = '', verb = '', ask = '', done = '', then } = button.dataset;
  button.addEventListener('click', async () => {
    if (!(await confirmed(ask, verb))) return;
    await attempt(section(button), async () => {
      await sendChecked('DELETE', revoke);
      if (then) location.assign(then);
      else again(section(button), done);
    });
  });
}

onSubmit('[data-rename]', async (form) => {
  await sendChecked('PATCH', form.dataset.rename ?? '', { name: field(form, 'name') });
  again(section(form), 'The passkey has its new name.');
});

onSubmit('#add-passkey', async (form) => {
  await addPasskey(field(form, 'name'), sendChecked);
  again(section(form), 'The passkey was added.');
});

onSubmit('#make-codes', async (form) => {
  if (form.dataset.ask && !(await confirmed(form.dataset.ask, 'Make new codes'))) return;
  const { recovery_codes: codes } = await sendChecked('POST', '/api/v1/recovery-codes', {});
  the('#new-codes').hidden = false;
  showCodes(the('#new-codes'), codes);
  the('#new-codes').focus();
});

onSubmit('#link-login', async () => {
  // Just now, so that there is time for the way to the issuer and back.
  await checkPasskey();
  const { url } = await sendChecked('POST', '/auth/oidc/link', {});
  location.assign(url);
});

onSubmit('#link-access', async (form) => {
  await sendChecked('POST', '/auth/access', { link: true });
  again(section(form), 'The login was linked.');
});

onSubmit('#make-token', async (form) => {
  const days = field(form, 'days');
  const scopes = new FormData(form).getAll('scope');
  if (scopes.length === 0) return tell(form, 'Choose at least one thing that the token may do.');
  const { token } = await sendChecked('POST', '/api/v1/tokens', {
    name: field(form, 'name'),
    scopes,
    days: days === '' ? null : Number(days),
  });
  form.reset();
  showOnce(section(form), token);
});

onSubmit('#invite', async (form) => {
  const { url } = await sendChecked('POST', '/api/v1/invitations', { name: field(form, 'name') });
  form.reset();
  showOnce(section(form), url);
});

onSubmit('#revoke-all', async (form) => {
  if (!(await confirmed(form.dataset.ask ?? '', 'Revoke everything'))) return;
  await sendChecked('POST', '/api/v1/revoke-all', {});
  again(section(form), 'Everything else was signed out and disconnected.');
});

const newName = document.querySelector('#new-passkey');
if (newName instanceof HTMLInputElement && newName.value === '') newName.value = nameOfThisDevice();

tellAgain();

/**
 * Asks before something that cannot be taken back.
 * @param {string} sentence
 * @param {string} verb what the button says that does it
 * @returns {Promise<boolean>}
 */
function confirmed(sentence, verb) {
  const dialog = the('#ask');
  if (!(dialog instanceof HTMLDialogElement)) return Promise.resolve(false);
  the('p', dialog).textContent = sentence;
  the('[value=yes]', dialog).textContent = verb;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}

/**
 * The part of the page that an element belongs to.
 * @param {HTMLElement} element
 */
function section(element) {
  const found = element.closest('section');
  return found ?? document.body;
}

/**
 * Loads the page again, at the same place, with what was done.
 * @param {HTMLElement} place
 * @param {string} text
 */
function again({ id }, text) {
  sessionStorage.setItem(TOLD, JSON.stringify({ id, text }));
  location.replace(`#${id}`);
  location.reload();
}

function tellAgain() {
  const kept = sessionStorage.getItem(TOLD);
  sessionStorage.removeItem(TOLD);
  if (kept === null) return;
  const { id, text } = JSON.parse(kept);
  const place = document.getElementById(id);
  if (!place) return;
  the('h2', place).focus();
  tell(place, text, 'good');
}
