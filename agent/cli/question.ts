import { createInterface } from 'node:readline';
import type { Cli } from './cli.ts';
import { CommandFailed } from './failure.ts';

/** Asks for a yes. `otherwise` is the flag that answers where nobody can be asked. @throws CommandFailed there */
export async function agree(
  { environment, output }: Cli,
  question: string,
  otherwise = '--yes',
): Promise<boolean> {
  const { stdin, stderr } = environment;
  if (!stdin.isTTY) {
    throw new CommandFailed(`${question} There is no terminal here to ask on; ${otherwise} says yes.`);
  }
  output.note('');
  const answer = await new Promise<string>((resolve) => {
    const lines = createInterface({ input: stdin, output: stderr });
    lines.question(`${question} [y/N] `, (text) => {
      resolve(text);
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => resolve(''));
  });
  return /^\s*y(es)?\s*$/i.test(answer);
}
