import fc from 'fast-check';
import { effort } from '../support/effort.ts';

/** A counterexample can be a body of a megabyte; the beginning says enough, and the seed brings back the rest. */
const reportLengthMax = 4_000;

/** `FUZZ_SEED` repeats a run that failed; without it every run tries something new. */
const seed = Number(process.env['FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31));

/** How many inputs are tried: `FUZZ_RUNS`, or what the form of the run asks for. */
export function fuzzRuns(amount: { readonly short: number; readonly long: number }): number {
  return Number(process.env['FUZZ_RUNS'] ?? effort(amount));
}

/** Holds a property against many inputs, one after another. A failure names its input and how to meet it again. */
export async function fuzz<Input>(
  runs: number,
  inputs: fc.Arbitrary<Input>,
  holds: (input: Input) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(inputs, holds), {
    seed,
    numRuns: runs,
    asyncReporter: async ({ failed, errorInstance, counterexample, numRuns }) => {
      if (!failed) return;
      const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
      const input = fc.stringify(counterexample);
      const shown = [reason, input].map((text) => text.slice(0, reportLengthMax)).join('\n');
      throw new Error(`after ${numRuns} inputs; repeat with FUZZ_SEED=${seed} FUZZ_RUNS=${runs}\n${shown}`, {
        cause: errorInstance,
      });
    },
  });
}
