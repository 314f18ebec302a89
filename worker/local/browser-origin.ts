/** Where a person opens a registry that runs on this machine: passkeys are for a name, and 127.0.0.1 is none. */
export function browserOrigin(url: string): string {
  return `http://localhost:${new URL(url).port}`;
}
