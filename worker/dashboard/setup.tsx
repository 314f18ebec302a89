import { Outcome, type Page, page } from './layout.tsx';

/** Steps of one's first minutes, of which the script shows one at a time. The link's token is in the fragment: only the script has it. */
export function setupPage(): Page {
  return page(
    { title: 'Set up', passkeys: true, script: 'setup.js' },
    <div id="setup">
      <section class="card" id="opening">
        <h1>Set up Repertoire</h1>
        <p role="status">Looking at your link …</p>
        <Outcome />
      </section>
      <section class="card" id="making" hidden>
        <h1 tabindex={-1}>Make your passkey</h1>
        <p id="greeting" />
        <p>
          A passkey replaces a password: you confirm with your finger, your face or your device's PIN. It
          works on this address only.
        </p>
        <form id="make">
          <div id="account-field" hidden>
            <label for="account-name">What shall your account be called?</label>
            <input id="account-name" name="account" required maxlength={100} autocomplete="nickname" />
          </div>
          <label for="passkey-name">Name of this passkey</label>
          <input id="passkey-name" name="passkey" required maxlength={100} aria-describedby="passkey-hint" />
          <p class="quiet" id="passkey-hint">
            So that you know later which one it is, such as “Laptop”.
          </p>
          <button type="submit">Make the passkey</button>
          <Outcome />
        </form>
      </section>
      <section class="card" id="keeping" hidden>
        <h1 tabindex={-1}>Keep your recovery codes</h1>
        <p>
          Each of them lets you in once, should you lose your passkey. They are shown only now: keep them
          where you keep other important papers.
        </p>
        <ShownCodes />
        <div class="buttons">
          <button type="button" id="kept">
            I have kept them
          </button>
        </div>
      </section>
      <section class="card" id="second" hidden>
        <h1 tabindex={-1}>Add a second passkey</h1>
        <p>
          With two passkeys you get in even when one device is lost. Use another device, such as your phone,
          or a security key.
        </p>
        <form id="add-second">
          <label for="second-name">Name of the second passkey</label>
          <input id="second-name" name="name" required maxlength={100} value="Phone" />
          <div class="buttons">
            <button type="submit">Add a second passkey</button>
            <a class="button plain" href="/account">
              Not now
            </a>
          </div>
          <Outcome />
        </form>
      </section>
    </div>,
  );
}

/** Recovery codes once they are there, with the ways to keep them. */
export function ShownCodes() {
  return (
    <div class="codes" data-shown="codes">
      <p class="printed" />
      <ol aria-label="Recovery codes" />
      <div class="buttons">
        <button type="button" class="second" data-copy>
          Copy
        </button>
        <button type="button" class="second" data-download>
          Download
        </button>
        <button type="button" class="second" data-print>
          Print
        </button>
      </div>
      <p class="outcome" role="status" />
    </div>
  );
}
