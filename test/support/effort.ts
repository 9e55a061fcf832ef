/** Set by `npm run test:faults`: the same tests, longer and with more input than fits a run on every change. */
export const effortVariable = 'TEST_EFFORT';

const isLong = process.env[effortVariable] === 'long';

/** How much of something a test does: the short form in `npm test`, the long one in `npm run test:faults`. */
export function effort<T>(amount: { readonly short: T; readonly long: T }): T {
  return isLong ? amount.long : amount.short;
}
