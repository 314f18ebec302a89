import { attempt, field, onSubmit, the } from './outcome.js';
import { addPasskey, makePasskey, nameOfThisDevice } from './passkey.js';
import { send } from './send.js';
import { showCodes } from './shown-once.js';

const GREETINGS = {
  owner: 'This registry is yours. Its key is a passkey, which you make now.',
  recovery: 'This link lets you back in: make a new passkey for your account. Your old recovery codes end.',
  invitation: 'You are invited: make a passkey, and you have an account and a registry of your own.',
};

// The token lets in whoever has it, so it must not stay in the address bar, the history or a bookmark.
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname);

void attempt(the('#opening'), async () => {
  const status = the('#opening [role=status]');
  status.hidden = true;
  if (!token) {
    the('#opening .outcome').textContent =
      'This page needs the whole link that you were given, with everything after the #; open it again from where it was shown.';
    return;
  }
  const { name, type } = await send('POST', '/auth/setup/options', { token });
  the('#greeting').textContent = GREETINGS[/** @type {keyof typeof GREETINGS} */ (type)];
  the('#account-field').hidden = type === 'recovery';
  input('#account-name').value = name;
  input('#passkey-name').value = nameOfThisDevice();
  step('making');
});

onSubmit('#make', async (form) => {
  const { options } = await send('POST', '/auth/setup/options', { token });
  const { recovery_codes: codes } = await send('POST', '/auth/setup/finish', {
    token,
    account_name: field(form, 'account'),
    passkey_name: field(form, 'passkey'),
    response: await makePasskey(options),
  });
  showCodes(the('#keeping'), codes);
  step('keeping');
});

the('#kept').addEventListener('click', () => step('second'));

onSubmit('#add-second', async (form) => {
  await addPasskey(field(form, 'name'), send);
  location.assign('/account#passkeys');
});

/** @param {string} selector */
function input(selector) {
  return /** @type {HTMLInputElement} */ (the(selector));
}

/** @param {'making' | 'keeping' | 'second'} id */
function step(id) {
  for (const section of the('#setup').children) {
    if (section instanceof HTMLElement) section.hidden = section.id !== id;
  }
  the('h1', the(`#${id}`)).focus();
}
