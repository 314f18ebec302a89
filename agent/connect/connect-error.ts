/** A client's configuration stays as it is; the message is one sentence that says why and what to do. */
export class ConnectError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConnectError';
  }
}
