/** Set by `npm run test:faults`: the same tests, longer and with more input than fits a run on every change. */
export const effortVariable = 'TEST_EFFORT';

const isLong = process.env[effortVariable] === 'long';

/** How much of something a test does: the long form in `npm run test:faults`, the short one everywhere else. */
export function effort<T>(amount: { readonly short: T; readonly long: T }): T {
  return isLong ? amount.long : amount.short;
}

/** Takes turns: each call gets the next few of all, so that together they get each of them. The long form gets all. */
export function rotation<T>(all: readonly T[], few: number): () => readonly T[] {
  let next = 0;
  return () => {
    const turn = [...all.slice(next), ...all.slice(0, next)];
    next = (next + few) % all.length;
    return turn.slice(0, effort({ short: few, long: all.length }));
  };
}
