import fc from 'fast-check';
import { type Amount, seededRuns } from '../support/seeds.ts';

/** A counterexample can be a body of a megabyte; the beginning says enough, and the seed brings back the rest. */
const reportLengthMax = 4_000;

/** One of each, in any order. */
export function inAnyOrder<Item>(items: readonly fc.Arbitrary<Item>[]): fc.Arbitrary<readonly Item[]> {
  const places = [...items.keys()];
  return fc
    .record({
      items: fc.tuple(...items),
      order: fc.shuffledSubarray(places, { minLength: places.length }),
    })
    .map((round) => round.order.flatMap((place) => round.items[place] ?? []));
}

/** Holds a property against many inputs, one after another. A failure names its input and how to meet it again. */
export async function fuzz<Input>(
  amount: Amount,
  inputs: fc.Arbitrary<Input>,
  holds: (input: Input) => Promise<void>,
): Promise<void> {
  for (const { seed, runs, repeat } of seededRuns('FUZZ', amount))
    await fc.assert(fc.asyncProperty(inputs, holds), {
      seed,
      numRuns: runs,
      // A smaller input would meet what the ones before it have left.
      endOnFailure: true,
      asyncReporter: async ({ failed, errorInstance, counterexample, numRuns }) => {
        if (!failed) return;
        const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
        const input = fc.stringify(counterexample);
        const shown = [reason, input].map((text) => text.slice(0, reportLengthMax)).join('\n');
        throw new Error(`after ${numRuns} inputs; repeat with ${repeat}\n${shown}`, { cause: errorInstance });
      },
    });
}
