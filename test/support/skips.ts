/** How Node reports a skipped test, or a suite with all its tests: its name, its time and the reason. */
const skippedTest = /^ *﹣ .+ \([\d.]+ms\) # (.+)$/gm;

/** The reasons for which tests of an output were skipped, one for each. */
export function skipsOf(output: string): readonly string[] {
  return [...output.matchAll(skippedTest)].map(([, reason = '']) => reason);
}

/** What a run left out, and what to install for it. Empty if it left out nothing. */
export function describeSkips(reasons: readonly string[]): string {
  if (reasons.length === 0) return '';
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const lines = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${String(count).padStart(6)}  ${reason}\n`);
  return `\n── what was skipped, and what it needs\n${lines.join('')}`;
}
