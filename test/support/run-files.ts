import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** Enough to see where the time goes. */
const slowestMax = 15;

/** Runs test files, each in a process of its own, in the order given. Resolves with whether all of them passed. */
export async function runFiles(files: readonly string[], concurrency: number): Promise<boolean> {
  const took: { readonly file: string; readonly ms: number }[] = [];
  let isOk = true;
  const events = run({ files: [...files], concurrency });
  events.on('test:summary', ({ file, duration_ms, success }) => {
    isOk &&= success;
    if (file !== undefined) took.push({ file, ms: duration_ms });
  });
  for await (const text of events.compose(new spec())) process.stdout.write(String(text));
  const slowest = took.toSorted((a, b) => b.ms - a.ms).slice(0, slowestMax);
  for (const { file, ms } of slowest)
    process.stdout.write(`   ${(ms / 1_000).toFixed(1).padStart(6)} s  ${relative(process.cwd(), file)}\n`);
  return isOk;
}
