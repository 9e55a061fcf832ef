/**
 * What a part of the run said, if it failed. Printed again at the end, because often only the end of an output is kept.
 */
export interface Failure {
  /** The names of the tests that failed, or of the part. */
  readonly names: readonly string[];
  readonly output: string;
}

/** What Node prints before it repeats the failed tests. */
const failedTests = '\n✖ failing tests:\n';
/** Each is repeated after its place. */
const failedTest = /^test at (.+):\d+:\d+\n✖ (.+)$/gm;
/** Enough for the last errors of a process that ended early. */
const lastLength = 8_000;
/** How Node reports the start of a file's suite, and a test of that file with its time. */
const fileOrTest = /^(?:▶ (.+)| {2}[✔✖] (.+) \(([\d.]+)ms\))$/gm;
/** How Node reports a skipped test, or a suite with all its tests: its name, its time and the reason. */
const skippedTest = /^ *﹣ .+ \([\d.]+ms\) # (.+)$/gm;
const slowestMax = 10;

/** What to repeat of a process that failed. Tests that it ran name themselves; else its last words say why it ended. */
export function failureOf(name: string, output: string, errors: string): Failure {
  const at = output.lastIndexOf(failedTests);
  const repeated = at === -1 ? '' : output.slice(at + failedTests.length);
  const names = [...repeated.matchAll(failedTest)].map(([, file, title]) => `${file}: ${title}`);
  if (names.length > 0) return { names, output: repeated.trim() };
  const last = [output, errors].map((text) => text.trim().slice(-lastLength));
  return { names: [name], output: last.join('\n').trim() };
}

/** All that failed: first what each had to say, then the names, which stay even if just the last lines are kept. */
export function describeFailures(failures: readonly Failure[]): string {
  if (failures.length === 0) return '';
  const names = failures.flatMap((failure) => failure.names);
  const said = failures.map(({ output }) => `${output}\n\n`).join('');
  return `\n── what failed\n\n${said}${names.map((name) => `✖ ${name}\n`).join('')}`;
}

/** What a run left out, and what to install for it. Empty if it left out nothing. */
export function describeSkips(output: string): string {
  const counts = new Map<string, number>();
  for (const [, reason = ''] of output.matchAll(skippedTest))
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  if (counts.size === 0) return '';
  const lines = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${String(count).padStart(6)}  ${reason}\n`);
  return `\n── what was skipped, and what it needs\n${lines.join('')}`;
}

/** The tests that took longest, with their files. */
export function describeSlowest(output: string): string {
  const tests: { readonly name: string; readonly ms: number }[] = [];
  let file = '';
  for (const [, started, title, ms] of output.matchAll(fileOrTest)) {
    if (started !== undefined) file = started;
    else tests.push({ name: `${file}: ${title}`, ms: Number(ms) });
  }
  const lines = tests
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, slowestMax)
    .map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(6)} s  ${name}\n`);
  return `\n── the slowest tests\n${lines.join('')}`;
}
