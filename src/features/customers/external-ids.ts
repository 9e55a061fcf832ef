import { type Customer, type CustomerFacts, takeCustomerFacts } from '#core/model/customer.ts';
import type { Take } from '#core/model/facts.ts';
import { isOurId } from '#core/platform/id.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { LockedRows } from '#engine/mirrors/apply-facts.ts';
import type { ExternalIdStore } from './external-id-store.ts';

/** The external ids in the facts of a batch, after the free ones were taken. */
export interface TakenExternalIds {
  /** The facts, without an external id that another customer has. */
  readonly withFree: (id: string, facts: CustomerFacts) => CustomerFacts;
  /** Like `takeCustomerFacts`. Facts with an external id that another customer has need a refresh. */
  readonly take: Take<Customer, CustomerFacts>;
  /** Call it after the rows are written: frees the external ids that no row carries. */
  readonly freeUnused: (
    written: readonly { readonly before: Customer; readonly after: Customer }[],
  ) => Promise<void>;
}

/**
 * Takes the external ids that customers have at the processor but not in their rows. The processor does not enforce
 * that they are unique, and the events of two customers that exchange one can arrive in any order. So a customer gets
 * an external id only if no other customer has it.
 */
export async function takeExternalIds(
  tx: Transaction,
  store: ExternalIdStore,
  { groups, known }: LockedRows<Customer, CustomerFacts>,
): Promise<TakenExternalIds> {
  const rows = new Map(known.map((row) => [row.processorCustomerId, row]));
  const wanted = [...groups.values()]
    .flat()
    .flatMap(({ externalId, localId, deleted, processorCustomerId }) => {
      const row = rows.get(processorCustomerId);
      const customerId = row?.id ?? (isOurId(localId) ? localId : null);
      const isWanted = !deleted && externalId !== null && externalId !== row?.externalId;
      return isWanted && customerId !== null ? [{ externalId, customerId }] : [];
    });
  const held = wanted.length === 0 ? [] : await store.take(tx, wanted);
  const holders = new Map(held.map(({ externalId, customerId }) => [externalId, customerId]));
  const isTaken = (id: string, { externalId }: CustomerFacts) =>
    externalId !== null && (holders.get(externalId) ?? id) !== id;
  const withFree: TakenExternalIds['withFree'] = (id, facts) =>
    isTaken(id, facts) ? { ...facts, externalId: null } : facts;
  return {
    withFree,
    take: (row, facts, origin, now) => {
      if (origin === 'current') return takeCustomerFacts(row, withFree(row.id, facts), origin, now);
      const taken = takeCustomerFacts(row, facts, origin, now);
      const needsRefresh = isTaken(row.id, facts) && taken.verdict === 'take';
      return needsRefresh ? { verdict: 'refresh', row } : taken;
    },
    freeUnused: async (written) => {
      const given = written.flatMap(({ before, after }) =>
        before.externalId === null || before.externalId === after.externalId ? [] : [before.externalId],
      );
      const candidates = [...wanted.map(({ externalId }) => externalId), ...given];
      if (candidates.length > 0) await store.free(tx, candidates);
    },
  };
}
