import type { Run } from './lab.ts';
import { median } from './numbers.ts';

/**
 * Runs the contestants in turn, for several rounds, and returns the medians of each. So other load on the machine
 * affects all of them alike.
 */
export async function takeTurns<const Name extends string, R extends Run>(
  rounds: number,
  contestants: Readonly<Record<Name, () => Promise<R>>>,
): Promise<Readonly<Record<Name, R>>> {
  const names = Object.keys(contestants) as Name[];
  const runs = new Map<Name, R[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) runs.get(name)?.push(await contestants[name]());
  }
  const medians = names.map((name) => [name, medianRun(runs.get(name) ?? [])] as const);
  // The names are those of the contestants.
  return Object.fromEntries(medians) as Record<Name, R>;
}

/** Computes medians field by field. All fields are numbers. */
function medianRun<R extends Run>(runs: readonly R[]): R {
  const fields = Object.keys(runs[0] ?? {}) as (keyof R)[];
  const values = fields.map((field) => [field, median(runs.map((run) => Number(run[field])))] as const);
  // It has all fields of the first run, and no others.
  return Object.fromEntries(values) as unknown as R;
}
