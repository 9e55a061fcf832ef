/** With more changes than this per three characters, it is another word, not a typing error. */
const changesPerThreeCharsMax = 1;

/** The candidate that `word` probably means. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, changes: changesBetween(word, candidate) }))
    .sort((a, b) => a.changes - b.changes);
  const [best] = ranked;
  const changesMax = Math.max(1, Math.ceil(word.length / 3) * changesPerThreeCharsMax);
  if (best !== undefined && best.changes <= changesMax) return best.candidate;
  return word.length >= 3 ? candidates.find((candidate) => candidate.startsWith(word)) : undefined;
}

/** The Levenshtein distance: how many characters must be added, removed or replaced. */
function changesBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [rowIndex, left] of [...from].entries()) {
    const next = [rowIndex + 1];
    for (const [index, right] of [...to].entries()) {
      const replaced = (row[index] ?? 0) + (left === right ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
