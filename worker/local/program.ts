import { Command } from 'commander';

/** A command of `npm run`; wrong usage ends it with 2, after one sentence. */
export function localProgram(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .helpOption('--help', 'print this')
    .configureOutput({ outputError: (text, write) => write(asSentence(text)) })
    .showHelpAfterError(`"${name} --help" says more.`)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

function asSentence(text: string): string {
  const words = text
    .trim()
    .replace(/^error: /, '')
    .replace(/\n\(Did (.*)\?\)$/, '; did $1?');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.?]$/.test(words) ? '' : '.'}\n`;
}
