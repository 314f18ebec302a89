import { Refusal } from './send.js';

/**
 * Does something for a person: meanwhile its button is busy, afterwards the nearest outcome tells a failure.
 * @param {HTMLElement} place form, or element around the buttons
 * @param {() => Promise<unknown>} act
 */
export async function attempt(place, act) {
  if (place.ariaBusy === 'true') return;
  tell(place, '');
  busy(place, true);
  try {
    await act();
  } catch (error) {
    tell(place, error instanceof Refusal ? error.message : 'This page failed; load it again and retry.');
    if (!(error instanceof Refusal)) throw error;
  } finally {
    busy(place, false);
  }
}

/**
 * Tells what came of an act, at the end of the place where it was done.
 * @param {HTMLElement} place
 * @param {string} text
 * @param {'bad' | 'good'} [kind]
 */
export function tell(place, text, kind = 'bad') {
  const outcome = outcomeOf(place) ?? outcomeOf(place.closest('section') ?? document);
  if (!outcome) return;
  outcome.textContent = text;
  outcome.classList.toggle('good', kind === 'good');
}

/** @param {ParentNode} place */
function outcomeOf(place) {
  return [...place.querySelectorAll('.outcome[role=alert]')].at(-1);
}

/**
 * What a form's field holds.
 * @param {HTMLFormElement} form
 * @param {string} name
 */
export function field(form, name) {
  return String(new FormData(form).get(name) ?? '').trim();
}

/**
 * Calls `act` instead of sending the form.
 * @param {string} selector
 * @param {(form: HTMLFormElement) => Promise<unknown>} act
 */
export function onSubmit(selector, act) {
  for (const form of document.querySelectorAll(selector)) {
    if (!(form instanceof HTMLFormElement)) continue;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void attempt(form, () => act(form));
    });
  }
}

/**
 * The element that the page's markup promises.
 * @param {string} selector
 * @param {ParentNode} [around]
 * @returns {HTMLElement}
 */
export function the(selector, around = document) {
  const found = around.querySelector(selector);
  if (found instanceof HTMLElement) return found;
  throw new Error(`The page has no ${selector}.`);
}

/**
 * @param {HTMLElement} place
 * @param {boolean} is
 */
function busy(place, is) {
  place.ariaBusy = String(is);
}
