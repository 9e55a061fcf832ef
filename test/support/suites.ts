import asyncHooks from 'node:async_hooks';
import { pathToFileURL } from 'node:url';

/**
 * Node's test runner follows every promise to the test that created it, with an async hook that takes a tenth of the
 * CPU time of the tests. It needs that only while a file loads, so that what the file declares belongs to its suite.
 */
const { createHook } = asyncHooks;
let follower: ReturnType<typeof createHook> | undefined;
asyncHooks.createHook = (callbacks) => {
  follower = createHook(callbacks);
  return follower;
};
const { after, suite } = await import('node:test');

/** Errors that no test caught. Without the hook, the runner cannot tell whose they are, so they fail the file. */
const uncaught: unknown[] = [];
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error: unknown) => uncaught.push(error));

/**
 * Runs test files in this process, one after the other. Each file is a suite, so its hooks apply to it alone, and an
 * error while it loads is a failed test. The next file is asked for when the suite has ended.
 */
export async function runSuites(files: AsyncIterable<string> | Iterable<string>): Promise<void> {
  for await (const file of files) {
    follower?.enable();
    await suite(file, async () => {
      await import(pathToFileURL(file).href);
      after(() => {
        if (uncaught.length > 0) throw new AggregateError(uncaught.splice(0), 'no test caught these errors');
      });
      follower?.disable();
    });
  }
}
