import { attempt } from './outcome.js';
import { send } from './send.js';

const signOut = document.querySelector('#sign-out');
if (signOut instanceof HTMLElement) {
  signOut.addEventListener('click', () =>
    attempt(signOut, async () => {
      await send('POST', '/auth/logout', {});
      location.assign('/');
    }),
  );
}
