import type { Run } from './lab.ts';
import { median } from './numbers.ts';

/**
 * Lets the contestants take turns, a few times over, and gives each the medians of what was measured: whatever else goes
 * on with the machine meets all of them alike.
 */
export async function takeTurns<const Name extends string>(
  rounds: number,
  contestants: Readonly<Record<Name, (round: number) => Promise<Run>>>,
): Promise<Readonly<Record<Name, Run>>> {
  const names = Object.keys(contestants) as Name[];
  const runs = new Map<Name, Run[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) runs.get(name)?.push(await contestants[name](round));
  }
  const medians = names.map((name) => [name, medianRun(runs.get(name) ?? [])] as const);
  return Object.fromEntries(medians) as Record<Name, Run>;
}

function medianRun(runs: readonly Run[]): Run {
  const of = (field: keyof Run) => median(runs.map((run) => run[field]));
  return {
    ratePerSecond: of('ratePerSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    serviceCpuMs: of('serviceCpuMs'),
    databaseCpuMs: of('databaseCpuMs'),
  };
}
