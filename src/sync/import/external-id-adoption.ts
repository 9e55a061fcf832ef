import { createHash } from 'node:crypto';
import type { CustomerService } from '../../customers/customer-service.ts';
import { Failure, isOutageOfAll } from '../../errors.ts';
import { unrepeatableName } from '../../idempotency/claim.ts';
import { type Customer, type CustomerFacts, isExternalId } from '../../model/customer.ts';
import { inLanes } from '../../platform/lanes.ts';
import type { Database } from '../../platform/postgres.ts';
import type { Mirrors } from '../mirrors.ts';
import { type Counts, noCounts, type Skip } from './import-progress.ts';
import { callsAtOnce, type Finished } from './stage.ts';

interface AdoptionParts {
  readonly database: Database;
  readonly mirrors: Pick<Mirrors, 'customers'>;
  readonly customers: Pick<CustomerService, 'update'>;
}

interface AdoptionOptions {
  /** The metadata key that contains the external id. */
  readonly metadataKey: string;
  /** Identifies the import. Null in a dry run. */
  readonly importId: string | null;
}

interface Wanted {
  readonly facts: CustomerFacts;
  readonly externalId: string;
}

type AdoptionOutcome = 'adopted' | 'unchanged' | { readonly reason: string };

/**
 * Copies the external ids of customers from their metadata. Sets each one like the API does: reserves it, writes it to
 * the customer at the processor, and records it. The processor needs its copy: later events would clear an external id
 * in a row if the processor does not have it.
 */
export class ExternalIdAdoption {
  readonly #parts: AdoptionParts;
  readonly #options: AdoptionOptions;
  /** Digests of the external ids that a dry run has found, because it stores none. */
  readonly #seen = new Set<string>();

  constructor(parts: AdoptionParts, options: AdoptionOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  async adopt(page: readonly CustomerFacts[]): Promise<Finished> {
    const wanted = page.flatMap((facts) => {
      const externalId = facts.metadata?.[this.#options.metadataKey];
      return externalId === undefined || facts.deleted ? [] : [{ facts, externalId }];
    });
    const rows = await this.#findRows(wanted);
    const outcomes = new Map<Wanted, AdoptionOutcome>();
    const settle = async (one: Wanted) => {
      outcomes.set(one, await this.#settle(one, rows.get(one.facts.processorCustomerId)));
    };
    // The first of several customers with the same value gets it.
    const groups = [...Map.groupBy(wanted, ({ externalId }) => externalId).values()];
    const lanes = this.#options.importId === null ? 1 : callsAtOnce;
    await inLanes(groups, lanes, async (group) => {
      for (const one of group) await settle(one);
    });
    return { externalIds: countOutcomes(outcomes), skips: skipsOf(outcomes) };
  }

  async #findRows(wanted: readonly Wanted[]): Promise<ReadonlyMap<string, Customer>> {
    const { database, mirrors } = this.#parts;
    const keys = wanted.map(({ facts }) => facts.processorCustomerId);
    const rows = keys.length === 0 ? [] : await mirrors.customers.findByKeys(database, keys);
    return new Map(rows.map((row) => [row.processorCustomerId, row]));
  }

  async #settle({ facts, externalId }: Wanted, row: Customer | undefined): Promise<AdoptionOutcome> {
    const current = row === undefined ? facts.externalId : row.externalId;
    if (current === externalId) return 'unchanged';
    if (!isExternalId(externalId)) return { reason: `${quote(externalId)} is not a valid external id.` };
    if (current !== null) return { reason: `The customer has the external id ${quote(current)}.` };
    if (row?.deletedAt != null) return { reason: 'The customer is deleted.' };
    const { importId } = this.#options;
    return importId === null ? this.#predict(externalId) : this.#set(importId, row, externalId);
  }

  async #set(importId: string, row: Customer | undefined, externalId: string): Promise<AdoptionOutcome> {
    if (row === undefined) return { reason: 'The customer has no row.' };
    // A resumed import repeats the same request.
    const key = { keyName: unrepeatableName, key: `import-${importId}-${row.id}` };
    try {
      await this.#parts.customers.update(row.id, { externalId }, key);
      return 'adopted';
    } catch (error) {
      if (isOutageOfAll(error) || !(error instanceof Failure)) throw error;
      return { reason: error.code === 'external_id_taken' ? taken(externalId) : error.message };
    }
  }

  async #predict(externalId: string): Promise<AdoptionOutcome> {
    const digest = createHash('sha256').update(externalId).digest('base64url').slice(0, digestLength);
    const isTaken = this.#seen.has(digest) || (await this.#parts.mirrors.customers.hasTaken(externalId));
    this.#seen.add(digest);
    return isTaken ? { reason: taken(externalId) } : 'adopted';
  }
}

/** 72 bits: among a billion external ids, two have the same digest with a probability of one in ten thousand. */
const digestLength = 12;

function taken(externalId: string): string {
  return `Another customer has the external id ${quote(externalId)}.`;
}

/** How much of a value is shown. */
const shownLengthMax = 60;

function quote(value: string): string {
  return JSON.stringify(value.length > shownLengthMax ? `${value.slice(0, shownLengthMax)}…` : value);
}

function countOutcomes(outcomes: ReadonlyMap<Wanted, AdoptionOutcome>): Counts {
  const all = [...outcomes.values()];
  const count = (outcome: AdoptionOutcome) => all.filter((one) => one === outcome).length;
  const [adopted, unchanged] = [count('adopted'), count('unchanged')];
  const found = all.length;
  return { ...noCounts, found, adopted, unchanged, skipped: found - adopted - unchanged };
}

function skipsOf(outcomes: ReadonlyMap<Wanted, AdoptionOutcome>): readonly Skip[] {
  return [...outcomes].flatMap(([{ facts }, outcome]) =>
    typeof outcome === 'string'
      ? []
      : [{ kind: 'external_id' as const, id: facts.processorCustomerId, reason: outcome.reason }],
  );
}
