import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A part of the measured system in a process of its own, so that it shares no thread with what measures it. */
export interface Child<Ready> {
  readonly ready: Ready;
  /** One question at a time. */
  ask<T>(question: unknown): Promise<T>;
  stop(): Promise<void>;
}

/** Starts a script of this folder with its order, and waits until it is ready. */
export async function startChild<Ready>(script: string, order: unknown): Promise<Child<Ready>> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [JSON.stringify(order)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  async function next<T>(): Promise<T> {
    const failed = ended.then(() => {
      throw new Error(`${script} ended (${child.exitCode ?? child.signalCode}); its message stands above.`);
    });
    const [message] = await Promise.race([once(child, 'message'), failed]);
    return message as T;
  }
  return {
    ready: await next<Ready>(),
    ask(question) {
      const answer = next();
      child.send(question as object);
      return answer as never;
    },
    async stop() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** The order that this process was started with. */
export function readOrder<T>(): T {
  return JSON.parse(process.argv[2] ?? '') as T;
}

/** Tells the parent that this process is ready, answers its questions, and ends with it. */
export function serveParent(
  ready: unknown,
  answer: (question: unknown) => Promise<unknown>,
  stop: () => Promise<void>,
): void {
  process.on('message', async (question) => process.send?.(await answer(question)));
  process.once('disconnect', async () => {
    await stop();
    process.exit();
  });
  process.send?.(ready);
}

/** Milliseconds on a clock that all processes of this machine share. */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
