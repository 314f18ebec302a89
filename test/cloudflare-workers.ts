/** In place of the platform's module, for the OAuth library in Node. It looks at the Worker's flags when it is loaded. */
export class WorkerEntrypoint {}

Object.assign(globalThis, { Cloudflare: { compatibilityFlags: { global_fetch_strictly_public: true } } });
