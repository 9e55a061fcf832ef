import { Failure, isOutageOfAll } from '#core/errors.ts';
import { type Customer, isExternalId } from '#core/model/customer.ts';
import { inLanes } from '#core/platform/lanes.ts';
import { unrepeatableName } from '#engine/idempotency/claim.ts';
import { OtherExternalId } from '#features/customers/customer-update.ts';
import { describeHoldings, findHoldings, type Holdings, holdsMore } from './customer-holdings.ts';
import { digestOf, type SharedValue } from './external-id-notes.ts';
import type { ImportContext } from './import-context.ts';
import { noCounts, type Skip } from './import-progress.ts';
import { callsAtOnce, type PageOutcome } from './stage.ts';

interface AdoptionOptions {
  /** The metadata key that contains the external id. */
  readonly metadataKey: string;
  /** Identifies the import. Null in a dry run. */
  readonly importId: string | null;
}

/** A customer that has the value in its metadata. */
interface Candidate {
  readonly processorCustomerId: string;
  /** Absent in a dry run, if the customer has no row yet. */
  readonly row?: Customer;
  readonly externalId: string | null;
  readonly createdAt: Date;
}

interface RankedCandidate extends Candidate {
  readonly holdings: Holdings;
}

type AdoptionOutcome = 'adopted' | 'unchanged' | { readonly reason: string };

type Outcomes = Map<string, AdoptionOutcome>;

/** A value that more customers share is not an id, and checking the subscriptions of each of them would take hours. */
const sharingMax = 100;

/**
 * Copies the external ids of customers from their metadata. Sets each one like the API does: reserves it, writes it to
 * the customer at the processor, and records it. The processor needs its copy: later events would clear an external id
 * in a row if the processor does not have it. Of several customers with the same value, the one that pays gets it.
 */
export class ExternalIdAdoption {
  readonly #context: ImportContext;
  readonly #options: AdoptionOptions;

  constructor(context: ImportContext, options: AdoptionOptions) {
    this.#context = context;
    this.#options = options;
  }

  async adopt(values: readonly SharedValue[]): Promise<PageOutcome> {
    const rows = await this.#findRows(values);
    const outcomes: Outcomes = new Map();
    await inLanes(values, callsAtOnce, async (shared) => {
      const { value, candidates } = this.#candidatesOf(shared, rows);
      for (const [id, outcome] of await this.#settle(value, candidates)) outcomes.set(id, outcome);
    });
    const all = [...outcomes.values()];
    const [adopted, unchanged] = [count(all, 'adopted'), count(all, 'unchanged')];
    const skips = skipsOf(outcomes);
    return { counts: { ...noCounts, found: all.length, adopted, unchanged, skipped: skips.length }, skips };
  }

  async #findRows(values: readonly SharedValue[]): Promise<ReadonlyMap<string, Customer>> {
    const { database, mirrors } = this.#context;
    const keys = values.flatMap(({ customers }) => customers.map((one) => one.processorCustomerId));
    const rows = keys.length === 0 ? [] : await mirrors.customers.findByKeys(database, keys);
    return new Map(rows.map((row) => [row.processorCustomerId, row]));
  }

  /** The customers that still have the value. A customer may have been changed or deleted since the list was read. */
  #candidatesOf({ digest, customers }: SharedValue, rows: ReadonlyMap<string, Customer>) {
    const { metadataKey } = this.#options;
    const having = customers.flatMap(({ processorCustomerId, foreseen }) => {
      const row = rows.get(processorCustomerId);
      const value = foreseen?.value ?? row?.metadata[metadataKey];
      const known = row ?? foreseen;
      if (value === undefined || known === undefined || digestOf(value) !== digest) return [];
      if (row !== undefined && row.deletedAt !== null) return [];
      const { externalId, createdAt } = known;
      return [{ value, processorCustomerId, externalId, createdAt, ...(row === undefined ? {} : { row }) }];
    });
    return { value: having[0]?.value ?? '', candidates: having satisfies readonly Candidate[] };
  }

  async #settle(value: string, candidates: readonly Candidate[]): Promise<Outcomes> {
    const outcomes: Outcomes = new Map();
    const open: Candidate[] = [];
    for (const candidate of candidates) {
      const { processorCustomerId: id, externalId } = candidate;
      if (externalId === value) outcomes.set(id, 'unchanged');
      else if (!isExternalId(value))
        outcomes.set(id, { reason: `${quote(value)} is not a valid external id.` });
      else if (externalId !== null) outcomes.set(id, { reason: has(externalId) });
      else open.push(candidate);
    }
    const unchanged = candidates.find(({ externalId }) => externalId === value)?.processorCustomerId;
    if (open.length > sharingMax) {
      const reason = `${open.length} customers have the value ${quote(value)}, so it identifies none of them.`;
      for (const { processorCustomerId } of open) outcomes.set(processorCustomerId, { reason });
    } else if (open.length > 0) await this.#give(value, open, unchanged, outcomes);
    return outcomes;
  }

  /** Gives the external id to the first of the customers, unless it is taken. */
  async #give(
    value: string,
    open: readonly Candidate[],
    unchanged: string | undefined,
    outcomes: Outcomes,
  ): Promise<void> {
    const held = unchanged ?? (await this.#findHolder(value));
    const [only] = open;
    if (held === undefined && open.length === 1 && only !== undefined) {
      outcomes.set(only.processorCustomerId, await this.#set(only, value));
      return;
    }
    const [first, ...others] = await this.#rank(open);
    if (first === undefined) return;
    const outcome = held === undefined ? await this.#set(first, value) : undefined;
    if (outcome !== undefined) outcomes.set(first.processorCustomerId, outcome);
    const holder =
      outcome === undefined ? held : outcome === 'adopted' ? first.processorCustomerId : 'unknown';
    const losers = outcome === undefined ? [first, ...others] : others;
    for (const { processorCustomerId, holdings } of losers) {
      const reason = `${taken(value, holder)} This one has ${describeHoldings(holdings)}.`;
      outcomes.set(processorCustomerId, { reason });
    }
  }

  /** The processor's id of the customer that has the external id. */
  async #findHolder(externalId: string): Promise<string | undefined> {
    const holder = await this.#context.mirrors.customers.findHolder(externalId);
    return typeof holder === 'object' ? holder.processorCustomerId : holder;
  }

  /** The customer that must get the external id comes first. */
  async #rank(candidates: readonly Candidate[]): Promise<readonly RankedCandidate[]> {
    const ranked: RankedCandidate[] = [];
    for (const candidate of candidates) {
      const holdings = await findHoldings(this.#context.processor, candidate.processorCustomerId);
      ranked.push({ ...candidate, holdings });
    }
    // The sort is stable, and the list has newer customers first.
    return ranked.toSorted(
      (a, b) => holdsMore(a.holdings, b.holdings) || b.createdAt.getTime() - a.createdAt.getTime(),
    );
  }

  async #set({ row }: Candidate, externalId: string): Promise<AdoptionOutcome> {
    const { importId } = this.#options;
    if (importId === null) return 'adopted';
    if (row === undefined) return { reason: 'The customer has no row.' };
    // A resumed import repeats the same request.
    const key = { keyName: unrepeatableName, key: `import-${importId}-${row.id}` };
    try {
      await this.#context.customers.adoptExternalId(row.id, externalId, key);
      return 'adopted';
    } catch (error) {
      // A request has set it since the rows of the page were read.
      if (error instanceof OtherExternalId) return { reason: has(error.externalId) };
      if (isOutageOfAll(error) || !(error instanceof Failure)) throw error;
      return { reason: error.code === 'external_id_taken' ? taken(externalId, 'unknown') : error.message };
    }
  }
}

function has(externalId: string): string {
  return `The customer has the external id ${quote(externalId)}.`;
}

function taken(externalId: string, holder: string | undefined): string {
  const named = holder === undefined || holder === 'unknown' ? '' : `: ${holder}`;
  return `Another customer has the external id ${quote(externalId)}${named}.`;
}

/** How much of a value is shown. */
const shownLengthMax = 60;

function quote(value: string): string {
  return JSON.stringify(value.length > shownLengthMax ? `${value.slice(0, shownLengthMax)}…` : value);
}

function count(outcomes: readonly AdoptionOutcome[], wanted: AdoptionOutcome): number {
  return outcomes.filter((outcome) => outcome === wanted).length;
}

function skipsOf(outcomes: Outcomes): readonly Skip[] {
  return [...outcomes].flatMap(([id, outcome]) =>
    typeof outcome === 'string' ? [] : [{ kind: 'external_id' as const, id, reason: outcome.reason }],
  );
}
