import type { CoreWatch } from './core-watch.ts';
import type { Run } from './lab.ts';
import { median } from './numbers.ts';

/** The contestants of a round are comparable if the slowest cores that one of them had are this much slower at most. */
const unevennessMax = 1.1;

interface Round<Name extends string, R> {
  readonly runs: Readonly<Record<Name, R>>;
  /** How much slower the cores were for one contestant than for another. */
  readonly unevenness: number;
}

export interface TurnTaking {
  readonly scale: { readonly rounds: number };
  readonly cores: Pick<CoreWatch, 'workMsSince'>;
}

/**
 * Runs the contestants in turn, for several rounds, and returns the medians of each. So other load on the machine
 * affects all of them alike. If the speed of the cores changes meanwhile, there are up to twice as many rounds, of
 * which the most even ones count.
 */
export async function takeTurns<const Name extends string, R extends Run>(
  { scale, cores }: TurnTaking,
  contestants: Readonly<Record<Name, () => Promise<R>>>,
): Promise<Readonly<Record<Name, R>>> {
  const rounds: Round<Name, R>[] = [];
  const isEven = ({ unevenness }: Round<Name, R>) => unevenness <= unevennessMax;
  while (rounds.filter(isEven).length < scale.rounds && rounds.length < scale.rounds * 2) {
    rounds.push(await runRound(cores, contestants));
  }
  const counted = rounds.toSorted((a, b) => a.unevenness - b.unevenness).slice(0, scale.rounds);
  const names = Object.keys(contestants) as Name[];
  const medians = names.map((name) => [name, medianRun(counted.map(({ runs }) => runs[name]))] as const);
  // The names are those of the contestants.
  return Object.fromEntries(medians) as Record<Name, R>;
}

async function runRound<Name extends string, R extends Run>(
  cores: TurnTaking['cores'],
  contestants: Readonly<Record<Name, () => Promise<R>>>,
): Promise<Round<Name, R>> {
  const runs: Partial<Record<Name, R>> = {};
  const workMs: number[] = [];
  for (const name of Object.keys(contestants) as Name[]) {
    const startedAtMs = performance.now();
    runs[name] = await contestants[name]();
    workMs.push(cores.workMsSince(startedAtMs));
  }
  // Each contestant has run.
  return { runs: runs as Record<Name, R>, unevenness: Math.max(...workMs) / Math.min(...workMs) };
}

/** Computes medians field by field. All fields are numbers. */
function medianRun<R extends Run>(runs: readonly R[]): R {
  const fields = Object.keys(runs[0] ?? {}) as (keyof R)[];
  const values = fields.map((field) => [field, median(runs.map((run) => Number(run[field])))] as const);
  // It has all fields of the first run, and no others.
  return Object.fromEntries(values) as unknown as R;
}
