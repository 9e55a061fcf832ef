import fc from 'fast-check';
import { effort } from './effort.ts';

/**
 * The one place that decides the seeds of the tests. Every run tries the same inputs, those of the pinned seeds, and
 * `npm run test:faults` as many random ones as well. A failure names its seed; setting the
 * variable repeats it. A seed that has found a bug is added to the pinned ones and stays there.
 */
const pinnedSeeds = {
  /**
   * Hostile requests, events and files, and every property checked with fast-check. 64245934 found that `page=1e400`
   * returns 500.
   */
  FUZZ: [64_245_934, 1],
  /** Histories of the processor's objects, and the order in which their events arrive. */
  MODEL: [1, 2],
  /** What the load does while something is broken. Its timing is not part of the seed. */
  FAULT: [1],
} as const;

export type SeedGroup = keyof typeof pinnedSeeds;

export interface Amount {
  readonly short: number;
  readonly long: number;
}

export interface SeededRun {
  readonly seed: number;
  readonly runs: number;
  /** The variables that repeat this run. */
  readonly repeat: string;
}

/** How many inputs to try with which seeds. The amounts are totals, shared by the pinned or by the random seeds. */
export function seededRuns(group: SeedGroup, amount: Amount): readonly SeededRun[] {
  const givenRuns = process.env[`${group}_RUNS`];
  const { short, long } =
    givenRuns === undefined ? amount : { short: Number(givenRuns), long: Number(givenRuns) };
  const givenSeed = process.env[`${group}_SEED`];
  if (givenSeed !== undefined) return share(group, [Number(givenSeed)], effort({ short, long }));
  const pinned = share(group, pinnedSeeds[group], short);
  const random = effort({ short: [], long: pinnedSeeds[group].map(randomSeed) });
  return [...pinned, ...share(group, random, long)];
}

/** The seed of a test that takes one. */
export function seedOf(group: SeedGroup): number {
  const given = process.env[`${group}_SEED`];
  if (given !== undefined) return Number(given);
  return effort({ short: pinnedSeeds[group][0], long: randomSeed() });
}

/** Checks a property that takes no time worth mentioning; fast-check's report names the seed. */
export async function assertProperty<Inputs>(
  property: fc.IProperty<Inputs> | fc.IAsyncProperty<Inputs>,
  runs: number | Amount = 100,
): Promise<void> {
  const amount = typeof runs === 'number' ? { short: runs, long: runs * 10 } : runs;
  for (const run of seededRuns('FUZZ', amount))
    await fc.assert(property, { seed: run.seed, numRuns: run.runs });
}

function share(group: SeedGroup, seeds: readonly number[], total: number): readonly SeededRun[] {
  const runs = Math.ceil(total / seeds.length);
  return seeds.map((seed) => ({ seed, runs, repeat: `${group}_SEED=${seed} ${group}_RUNS=${runs}` }));
}

function randomSeed(): number {
  return Math.trunc(Math.random() * 2 ** 31);
}
