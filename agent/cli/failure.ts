import { RegistryError } from '../../schema/errors.ts';

/** The command cannot do what was asked. The message is one sentence for the person. */
export class CommandFailed extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandFailed';
  }
}

/** The command was called in a way that it does not have: exit code 2. */
export class WrongUsage extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WrongUsage';
  }
}

/** What the person reads about an error: its own sentence where it was written for them. */
export function sentence(error: unknown): string {
  if (error instanceof RegistryError) return registrySentence(error);
  if (!(error instanceof Error)) return `Something failed: ${String(error)}`;
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'EISDIR' && path === undefined) return 'A folder was named where a file is needed.';
  if (code !== undefined && path !== undefined) return `${path} ${FILE_PROBLEM[code] ?? `failed (${code})`}.`;
  return FAULTS.some((fault) => error instanceof fault)
    ? `The command met a fault of its own (${error.name}: ${error.message}); set REPERTOIRE_DEBUG=1 to see where.`
    : error.message;
}

const FAULTS = [TypeError, RangeError, ReferenceError, SyntaxError];

const FILE_PROBLEM: Record<string, string> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read or written by you; change its permissions, or name another',
  EPERM: 'may not be changed by you; change its permissions, or name another',
  ENOSPC: 'could not be written: the disk is full; make room, then try again',
  EROFS: 'could not be written: the file system is read-only',
  ENOTDIR: 'leads through something that is no folder',
  EISDIR: 'is a folder',
  ENAMETOOLONG: 'has a longer name than the file system takes',
  ELOOP: 'is a link that leads in a circle',
};

function registrySentence({ code, message, details }: RegistryError): string {
  switch (code) {
    case 'insufficient_scope':
      return details.scopes?.includes('devices:write') || details.scopes?.includes('items:confirm')
        ? `${message} The owner's token has it: add --token-file owner.json.`
        : message;
    case 'confirmation_required': {
      const named = (details.findings ?? []).map(({ rule, match }) => `--confirm ${rule}:${match}`);
      return named.length > 0
        ? `${message} If it is no secret, repeat the command with ${[...new Set(named)].join(' ')} (and --token-file owner.json).`
        : message;
    }
    default:
      return message;
  }
}
