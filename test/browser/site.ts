import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { sha256 } from '../../schema/digest.ts';
import { type Database, openDatabase } from '../../worker/db/client.ts';
import { links } from '../../worker/db/tables/people.ts';
import { type Local, type LocalOptions, startLocal } from '../../worker/local/serve.ts';
import { bootstrapAccount } from '../../worker/registry/bootstrap.ts';
import { makeOwnerLink } from '../../worker/registry/links.ts';
import { newSecret } from '../../worker/registry/random.ts';
import { launchBrowser } from './chromium.ts';

const HOUR = 60 * 60_000;

const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', (violation) => console.error(
  'CSP: ' + violation.violatedDirective + ' ' + violation.blockedURI + ' ' + violation.sourceFile));`;

/** A passkey as an authenticator keeps it, with its private key. */
export interface Credential {
  credentialId: string;
  isResidentCredential: boolean;
  rpId?: string;
  privateKey: string;
  userHandle?: string;
  signCount: number;
}

/** The Worker as it runs on a person's machine, and a browser in front of it. */
export class Site {
  readonly url: string;
  readonly db: Database;
  readonly ownerFile: string;
  readonly #browser: Browser;
  readonly #local: Local;
  readonly #data: string;
  readonly #visitors: Visitor[] = [];

  private constructor(browser: Browser, local: Local, db: Database, data: string) {
    this.url = local.url.replace('127.0.0.1', 'localhost');
    this.ownerFile = local.ownerFile;
    this.db = db;
    this.#browser = browser;
    this.#local = local;
    this.#data = data;
  }

  /** Null where there is no browser. */
  static async open(options: Pick<LocalOptions, 'network'> = {}): Promise<Site | null> {
    const browser = await launchBrowser();
    if (!browser) return null;
    const data = await mkdtemp(join(tmpdir(), 'repertoire-browser-'));
    let db: Database | undefined;
    const local = await startLocal({
      ...options,
      port: 0,
      data,
      bootstrap: async (client, keep) => {
        db = openDatabase(client);
        await bootstrapAccount(client, keep);
      },
    });
    return new Site(browser, local, db as Database, data);
  }

  /** Path of a link that makes its opener the owner. */
  async ownerLink(): Promise<string> {
    return `/setup#${await makeOwnerLink(this.db, Date.now())}`;
  }

  /** Path of a link that makes an account. */
  async invitation(name = 'guest', expiresAt = Date.now() + HOUR): Promise<string> {
    const token = newSecret();
    await this.db.insert(links).values({
      hash: await sha256(token),
      type: 'invitation',
      name,
      createdAt: Date.now(),
      expiresAt,
    });
    return `/setup#${token}`;
  }

  /** A person with a browser of their own and an authenticator in it. */
  async visitor(options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await this.#browser.newContext({ baseURL: this.url, ...options });
    await context.addInitScript({ content: REPORT_VIOLATIONS });
    context.setDefaultTimeout(120_000);
    const page = await context.newPage();
    const visitor = new Visitor(page, await context.newCDPSession(page));
    await visitor.addAuthenticator();
    this.#visitors.push(visitor);
    return visitor;
  }

  /** A person whose account was just made by an invitation; their browser is at the account page. */
  async member(name = 'guest', options: BrowserContextOptions = {}): Promise<Visitor> {
    const visitor = await this.visitor(options);
    await visitor.page.goto(await this.invitation(name));
    await visitor.setUp();
    return visitor;
  }

  /** Closes every visitor's browser, and tells what went wrong in them on the side. */
  async leave(): Promise<string[]> {
    const left = this.#visitors.splice(0);
    for (const { page } of left) await page.context().close();
    return left.flatMap(({ problems }) => problems);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#local.stop();
    await rm(this.#data, { recursive: true, force: true });
  }
}

/** One person with one browser. */
export class Visitor {
  /** Errors on the console, in scripts and of the content security policy. None is expected, ever. */
  readonly problems: string[] = [];
  readonly page: Page;
  readonly #cdp: CDPSession;
  /** The authenticator that was plugged in last. */
  #authenticator = '';

  constructor(page: Page, cdp: CDPSession) {
    this.page = page;
    this.#cdp = cdp;
    page.on('pageerror', (error) => this.problems.push(String(error)));
    page.on('console', (message) => {
      // The browser writes a line for each answer that is a refusal.
      const refusal = /^Failed to load resource: .* (4\d\d|429) /.test(message.text());
      const asked = /\/(auth|api\/v1|authorize|pair|nowhere|\/evil\.example)\b/.test(message.location().url);
      if (message.type() === 'error' && !(refusal && asked)) this.problems.push(message.text());
    });
  }

  async addAuthenticator(): Promise<void> {
    if (this.#authenticator === '') await this.#cdp.send('WebAuthn.enable');
    else await this.unplug();
    const { authenticatorId } = await this.#cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    this.#authenticator = authenticatorId;
  }

  /** Takes the authenticator away, with what is on it. */
  async unplug(): Promise<void> {
    await this.#cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: this.#authenticator });
  }

  /** Whether the person shows finger, face or PIN. */
  async verifies(isUserVerified: boolean): Promise<void> {
    await this.#cdp.send('WebAuthn.setUserVerified', {
      authenticatorId: this.#authenticator,
      isUserVerified,
    });
  }

  async credentials(): Promise<Credential[]> {
    const { credentials } = await this.#cdp.send('WebAuthn.getCredentials', {
      authenticatorId: this.#authenticator,
    });
    return credentials;
  }

  async addCredential(credential: Credential): Promise<void> {
    await this.#cdp.send('WebAuthn.addCredential', { authenticatorId: this.#authenticator, credential });
  }

  /** Goes through the steps of `/setup`, which is open, and gives the recovery codes. */
  async setUp(passkey = 'Laptop'): Promise<string[]> {
    const { page } = this;
    await page.getByLabel('Name of this passkey').fill(passkey);
    await page.getByRole('button', { name: 'Make the passkey' }).click();
    const codes = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem');
    await codes.first().waitFor();
    const shown = await codes.allTextContents();
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await page.getByRole('link', { name: 'Not now' }).click();
    await page.getByRole('heading', { name: 'Who gets into your account' }).waitFor();
    return shown;
  }

  async signIn(): Promise<void> {
    await this.page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  }

  async signOut(): Promise<void> {
    await this.page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await this.page.getByRole('link', { name: 'Sign in' }).waitFor();
  }
}
