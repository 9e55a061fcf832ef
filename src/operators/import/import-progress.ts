/**
 * External ids come after all lists of the processor, because the subscriptions and payments of customers decide which
 * of several customers gets one.
 */
export const lastStage = 'external_id';

export interface Counts {
  /** Objects that the processor lists. */
  readonly found: number;
  /** Objects that had no row, and have one now. */
  readonly adopted: number;
  /** Rows that differed and were corrected. */
  readonly updated: number;
  /** Rows that did not differ. */
  readonly unchanged: number;
  readonly skipped: number;
}

export const noCounts: Counts = { found: 0, adopted: 0, updated: 0, unchanged: 0, skipped: 0 };

/** The progress of an import in one list. */
export interface StageProgress {
  readonly stage: string;
  /** Where the list continues. Null at its beginning, and at its end. */
  readonly cursor: string | null;
  readonly isDone: boolean;
  /** When its listing began. */
  readonly startedAt: string;
  readonly counts: Counts;
  /** Objects that were adopted before the list that counts them shows them. */
  readonly adoptedBefore: number;
  /** The number of invoices that had no customer when the list began. */
  readonly unattached: number;
}

export function newStage(stage: string, now: Date, unattached = 0): StageProgress {
  return {
    stage,
    cursor: null,
    isDone: false,
    startedAt: now.toISOString(),
    counts: noCounts,
    adoptedBefore: 0,
    unattached,
  };
}

export type ImportProgress = readonly StageProgress[];

/** The progress with one list replaced. */
export function withStage(progress: ImportProgress, latest: StageProgress): ImportProgress {
  return [...progress.filter(({ stage }) => stage !== latest.stage), latest];
}

/** When the newest of these lists began. Null if none has. */
export function newestStart(progress: ImportProgress): Date | null {
  const starts = progress.map(({ startedAt }) => Date.parse(startedAt));
  return starts.length === 0 ? null : new Date(Math.max(...starts));
}

/** The same list from its beginning. Adopted objects stay adopted. */
export function restarted(stage: StageProgress, now: Date): StageProgress {
  const { counts, adoptedBefore, unattached } = stage;
  return { ...newStage(stage.stage, now, unattached), adoptedBefore: adoptedBefore + counts.adopted };
}

/** An object that was left out. `id` is the processor's. */
export interface Skip {
  readonly kind: string;
  readonly id: string;
  readonly reason: string;
}

export interface KindCounts extends Counts {
  readonly kind: string;
}

/**
 * The list of charges has created the rows of all payments that pay an invoice and were charged before this time, which
 * is the start of the list of invoices: the charge of a newer invoice has no row yet if its subscription has none. If a
 * charge could not be read, that can be the charge of any payment, so the time is 1970. Null in a dry run, which does
 * not read the list of charges.
 */
export function chargesKnownUntil(progress: ImportProgress): Date | null {
  const find = (name: string) => progress.find(({ stage }) => stage === name);
  const charges = find('charge');
  if (charges === undefined) return null;
  return new Date(charges.counts.skipped > 0 ? 0 : (find('invoice') ?? charges).startedAt);
}

/**
 * The progress as people see it: one entry for each kind of object that was reached. Charges are payments, which the
 * list of payments shows too. External ids belong to the customers.
 */
export function countsOf(progress: ImportProgress): readonly KindCounts[] {
  const names = progress.map(({ stage }) => stage).filter((name) => name !== 'charge' && name !== lastStage);
  const withIds = progress.some(({ stage, counts }) => stage === lastStage && counts.found > 0);
  return names
    .flatMap((name) => (name === 'customer' && withIds ? [name, lastStage] : [name]))
    .map((name) => countsOfStage(progress, name));
}

/** The same for one list. Charges count as payments, and the list of payments begins after that of charges. */
export function countsOfStage(progress: ImportProgress, name: string): KindCounts {
  const find = (wanted: string) => progress.find(({ stage }) => stage === wanted);
  const kind = name === 'charge' ? 'payment' : name;
  const { counts = noCounts, adoptedBefore = 0, isDone = false } = find(kind) ?? {};
  const charges = kind === 'payment' ? find('charge') : undefined;
  // Customers that were adopted earlier got their invoices at the same time.
  const unattached = kind === 'invoice' ? (find('plan')?.unattached ?? 0) - (find(kind)?.unattached ?? 0) : 0;
  const before =
    adoptedBefore + (charges ? charges.adoptedBefore + charges.counts.adopted : 0) + Math.max(unattached, 0);
  return { kind, ...withAdoptedBefore(counts, before, isDone) };
}

/**
 * Adds objects that were adopted before their list shows them. They count as found until then. Afterwards they have a
 * row that does not differ.
 */
function withAdoptedBefore(counts: Counts, before: number, isDone: boolean): Counts {
  const listed = Math.min(before, counts.unchanged);
  const unlisted = isDone ? 0 : before - listed;
  return {
    ...counts,
    found: counts.found + unlisted,
    adopted: counts.adopted + listed + unlisted,
    unchanged: counts.unchanged - listed,
  };
}

export function addCounts(a: Counts, b: Counts): Counts {
  return {
    found: a.found + b.found,
    adopted: a.adopted + b.adopted,
    updated: a.updated + b.updated,
    unchanged: a.unchanged + b.unchanged,
    skipped: a.skipped + b.skipped,
  };
}
