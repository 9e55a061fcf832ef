/** What a part of the run said, if it failed. Printed again at the end, because often only the end of an output is kept. */
export interface Failure {
  /** The names of the tests that failed, or of the part. */
  readonly names: readonly string[];
  readonly output: string;
}

/** What Node prints before it repeats the failed tests. */
const failedTests = '\n✖ failing tests:\n';
/** Each is repeated after its place. */
const failedTest = /^test at .+\n✖ (.+)$/gm;
/** Enough for the last errors of a process that ended early. */
const lastLength = 8_000;

/** What to repeat of a process that failed. Tests that it ran name themselves; else its last words say why it ended. */
export function failureOf(name: string, output: string, errors: string): Failure {
  const at = output.lastIndexOf(failedTests);
  const repeated = at === -1 ? '' : output.slice(at + failedTests.length);
  const names = [...repeated.matchAll(failedTest)].map(([, title]) => `${name}: ${title}`);
  if (names.length > 0) return { names, output: repeated.trim() };
  const last = [output, errors].map((text) => text.trim().slice(-lastLength));
  return { names: [name], output: last.join('\n').trim() };
}

/** All that failed: first what each had to say, then the names, which stay even if just the last lines are kept. */
export function describeFailures(failures: readonly Failure[]): string {
  const names = failures.flatMap((failure) => failure.names);
  const said = failures.map(({ output }) => `${output}\n\n`).join('');
  return `\n── what failed\n\n${said}${names.map((name) => `✖ ${name}\n`).join('')}`;
}
