import { LRUCache } from 'lru-cache';

/** What an isolate has for all accounts; it has 128 MB for everything. */
const SHELF_CHARS = 24 * 1024 * 1024;

const shelf = new LRUCache<string, object>({ maxSize: SHELF_CHARS });

/** A place for values of one kind, by key. They share one shelf, and what was not asked for the longest goes first. */
export class Shelf<T extends object> {
  readonly #kind: string;

  constructor(kind: string) {
    this.#kind = kind;
  }

  get(key: string): T | undefined {
    return shelf.get(`${this.#kind} ${key}`) as T | undefined;
  }

  /** `chars`: about what it takes. */
  set(key: string, value: T, chars: number): void {
    shelf.set(`${this.#kind} ${key}`, value, { size: Math.max(1, chars) });
  }

  delete(key: string): void {
    shelf.delete(`${this.#kind} ${key}`);
  }
}
