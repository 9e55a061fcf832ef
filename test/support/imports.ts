import type { KindCounts, Skip } from '#operators/import/import-progress.ts';
import { dumpTables } from './dump-tables.ts';
import type { TillInProcess } from './till-in-process.ts';

type Run = TillInProcess['services']['accountImport']['run'];

interface ImportReport {
  /** By kind, without those that are 0. */
  readonly counts: Readonly<Record<string, object>>;
  readonly skips: readonly Skip[];
}

export async function runImport(
  till: Pick<TillInProcess, 'services'>,
  options: Parameters<Run>[0] = {},
  observer: Parameters<Run>[1] = {},
): Promise<ImportReport> {
  const skips: Skip[] = [];
  const onSkipped = (skip: Skip) => skips.push(skip);
  const { counts } = await till.services.accountImport.run(options, { ...observer, onSkipped });
  return { counts: shortCounts(counts), skips: skips.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
}

export function shortCounts(counts: readonly KindCounts[]): Readonly<Record<string, object>> {
  return Object.fromEntries(
    counts.map(({ kind, ...numbers }) => [
      kind,
      Object.fromEntries(Object.entries(numbers).filter(([, count]) => count !== 0)),
    ]),
  );
}

/** The counts of a kind of which every object was adopted, or was there already. */
export const allAdopted = (count: number) => ({ found: count, adopted: count });
export const allUnchanged = (count: number) => ({ found: count, unchanged: count });

/** Every row of every table, without what imports record about themselves. */
export async function dumpRows(till: Pick<TillInProcess, 'databaseUrl' | 'sql'>): Promise<string> {
  await till.sql('delete from till.imports');
  return dumpTables(till.databaseUrl);
}
