/** In place of the platform's module, for the OAuth library in Node. */
export class WorkerEntrypoint {}
