import { RegistryError } from '../schema/errors.ts';

/** What a caller is told of an error: a refusal as it is, any other as {@link logged}. */
export function refusalOf(error: unknown): RegistryError {
  return error instanceof RegistryError ? error : logged(error);
}

/**
 * What the caller may know of an unknown error: its number in the log. Messages stay out of the log too: a failed
 * query's holds what was to be stored. A full disk is said, for whoever runs the registry can do something about it.
 */
export function logged(error: unknown): RegistryError {
  const id = crypto.randomUUID();
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause)
    causes.push(cause);
  const kinds = causes.map((cause) => [cause.name, codeOf(cause)].filter(Boolean).join(' '));
  console.error([`Error ${id}: ${kinds.join(' < ') || typeof error}`, ...framesOf(error)].join('\n'));
  if (causes.some((cause) => codeOf(cause) === 'SQLITE_FULL')) {
    return new RegistryError(
      'unavailable',
      'Nothing was stored, because the disk of the registry is full; make room on it and try again.',
    );
  }
  return new RegistryError(
    'internal',
    `Something went wrong in the registry; try again, and if it stays so, look for ${id} in its log.`,
  );
}

function codeOf(error: Error): string | null {
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Where it was thrown. The message stands before that, and may hold lines that look alike. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error) || !error.stack) return [];
  const message = error.stack.indexOf(error.message);
  const frames = message < 0 ? '' : error.stack.slice(message + error.message.length);
  return frames.match(/^ {4}at .*$/gm) ?? [];
}
