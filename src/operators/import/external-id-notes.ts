import { createHash } from 'node:crypto';
import type { CustomerFacts } from '#core/model/customer.ts';
import type { Database, Queryable } from '#core/platform/postgres.ts';
import type { Pages } from '#processor/port/pages.ts';
import { type ImportStore, valuesPerPage } from './import-store.ts';

/** 72 bits: among a billion values, two have the same digest with a probability of one in ten thousand. */
const digestLength = 12;

export function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url').slice(0, digestLength);
}

/** A value, and the customers that have it, newest first. */
export interface SharedValue {
  readonly digest: string;
  readonly customers: readonly NotedCustomer[];
}

interface NotedCustomer {
  readonly processorCustomerId: string;
  /** Known only in a dry run. Otherwise the rows have it. */
  readonly foreseen?: ForeseenCustomer;
}

interface ForeseenCustomer {
  /** The value in the metadata. */
  readonly value: string;
  /** The current external id. */
  readonly externalId: string | null;
  readonly createdAt: Date;
}

/** The values that customers have as their external ids, until all customers were listed. */
export interface ExternalIdNotes {
  /** A customer that is noted again changes nothing. */
  add(db: Queryable, customers: readonly CustomerFacts[]): Promise<void>;
  list(after: string | null): Pages<SharedValue>;
}

/** Stored in the database, so that the next run continues with them. */
export function storedNotes(
  database: Database,
  store: ImportStore,
  { importId, metadataKey }: { readonly importId: string; readonly metadataKey: string },
): ExternalIdNotes {
  return {
    add: (db, customers) =>
      store.noteValues(
        db,
        importId,
        valuesOf(customers, metadataKey).map(({ value, facts: { processorCustomerId } }) => ({
          digest: digestOf(value),
          processorCustomerId,
        })),
      ),
    list: async function* (after) {
      let next = after;
      do {
        const values = await store.listValues(database, importId, next);
        next = values.length < valuesPerPage ? null : (values.at(-1)?.digest ?? null);
        const items = values.map(({ digest, processorCustomerIds }) => ({
          digest,
          customers: processorCustomerIds.map((processorCustomerId) => ({ processorCustomerId })),
        }));
        yield { items, leftOut: [], next };
      } while (next !== null);
    },
  };
}

/** Kept in memory, for a dry run, which stores nothing. Takes about 300 bytes for each customer with a value. */
export function rememberedNotes(metadataKey: string): ExternalIdNotes {
  const values = new Map<string, Map<string, ForeseenCustomer>>();
  return {
    add: async (_, customers) => {
      for (const { value, facts } of valuesOf(customers, metadataKey)) {
        const { processorCustomerId, externalId, createdAt } = facts;
        const sharing = values.get(value) ?? new Map();
        values.set(value, sharing.set(processorCustomerId, { value, externalId, createdAt }));
      }
    },
    list: async function* (after) {
      const all = [...values];
      for (let first = Number(after ?? 0); ; first += valuesPerPage) {
        const end = first + valuesPerPage;
        const items = all.slice(first, end).map(([value, sharing]) => ({
          digest: digestOf(value),
          customers: [...sharing].map(([processorCustomerId, foreseen]) => ({
            processorCustomerId,
            foreseen,
          })),
        }));
        const next = end < all.length ? String(end) : null;
        yield { items, leftOut: [], next };
        if (next === null) return;
      }
    },
  };
}

function valuesOf(
  customers: readonly CustomerFacts[],
  metadataKey: string,
): readonly { readonly value: string; readonly facts: CustomerFacts }[] {
  return customers.flatMap((facts) => {
    const value = facts.metadata?.[metadataKey];
    return value === undefined || facts.deleted ? [] : [{ value, facts }];
  });
}
