import { attempt, field, onSubmit, the } from './outcome.js';
import { usePasskey } from './passkey.js';
import { send } from './send.js';

const login = the('#login');

the('#with-passkey').addEventListener('click', () =>
  attempt(login, async () => {
    const { options } = await send('POST', '/auth/login/options', {});
    await send('POST', '/auth/login/finish', { response: await usePasskey(options) });
    goOn();
  }),
);

document.querySelector('#with-access')?.addEventListener('click', () =>
  attempt(login, async () => {
    await send('POST', '/auth/access', {});
    goOn();
  }),
);

onSubmit('#with-code', async (form) => {
  await send('POST', '/auth/login/recovery', { code: field(form, 'code') });
  location.assign('/account#passkeys');
});

function goOn() {
  location.assign(login.dataset.next ?? '/account');
}
