import webauthn from '../node_modules/@simplewebauthn/browser/dist/bundle/index.umd.min.js';
import account from './dashboard/client/account.js';
import consent from './dashboard/client/consent.js';
import login from './dashboard/client/login.js';
import outcome from './dashboard/client/outcome.js';
import page from './dashboard/client/page.js';
import pair from './dashboard/client/pair.js';
import passkey from './dashboard/client/passkey.js';
import send from './dashboard/client/send.js';
import setup from './dashboard/client/setup.js';
import shownOnce from './dashboard/client/shown-once.js';
import icon from './dashboard/icon.svg';
import style from './dashboard/style.css';

/** What pages load, taken into the bundle as text by the rules of `wrangler.toml`. */
export const assets = {
  'account.js': account,
  'consent.js': consent,
  'icon.svg': icon,
  'login.js': login,
  'outcome.js': outcome,
  'page.js': page,
  'pair.js': pair,
  'passkey.js': passkey,
  'send.js': send,
  'setup.js': setup,
  'shown-once.js': shownOnce,
  'style.css': style,
  'webauthn.js': webauthn,
};
