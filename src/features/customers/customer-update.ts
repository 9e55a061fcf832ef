import { notFound } from '#core/errors.ts';
import {
  type Customer,
  type CustomerChange,
  type CustomerFacts,
  externalIdTaken,
  isChangeIgnored,
} from '#core/model/customer.ts';
import { refuseTooManyKeys } from '#core/model/metadata.ts';
import { ReservationHeld, type ReservingOperation } from '#engine/idempotency/operation.ts';
import { applyInTransaction } from '#engine/mirrors/refresh.ts';
import { type Updated, type UpdateRequest, updateSteps } from '#engine/mirrors/update-operation.ts';
import { type CustomerContext, correctReserved, reserveExternalId } from './customer-creation.ts';

export type CustomerUpdate = ReservingOperation<
  UpdateRequest<CustomerChange>,
  Customer,
  Updated<Customer, CustomerFacts>,
  Customer
>;

/** The steps of changing a customer. A new external id is reserved before the call. */
export function customerUpdate(context: CustomerContext): CustomerUpdate {
  const { database, store, mirror, processor, externalIds } = context;
  return {
    ...updateSteps<Customer, CustomerChange, CustomerFacts>({
      name: 'customers.update',
      resource: 'customer',
      ...{ database, mirror, partMirror: mirror, keyOf: mirror.keyOf },
      findRow: (db, id) => store.readLive(db, id),
      send: ({ processorCustomerId }, change, idempotencyKey) =>
        processor.customers.update({ ...change, processorCustomerId, idempotencyKey }),
      read: async ({ processorCustomerId }) => {
        const facts = await processor.customers.read(processorCustomerId);
        if (facts !== 'deleted') return facts;
        await mirror.erase(processorCustomerId);
        throw notFound('customer');
      },
      isIgnored: isChangeIgnored,
      endReservation: (db, claimId) => externalIds.endReservation(db, claimId),
    }),
    reserve: async (tx, claimId, { id, change: { externalId = null, metadata = {} } }) => {
      const customer = await store.readLive(tx, id);
      refuseTooManyKeys(customer.metadata, metadata);
      if (externalId === null || externalId === customer.externalId) return customer;
      const holder = await reserveExternalId(tx, context, { externalId, customerId: id, claimId }).catch(
        (error: unknown) => {
          // This request cannot resume a creation, or another change, with its own values.
          throw error instanceof ReservationHeld ? new ReservationHeld(error.claimId, 'fail') : error;
        },
      );
      if (holder !== null) throw externalIdTaken(holder.id);
      return customer;
    },
    record: async (tx, claimId, { facts, row }) => {
      const applied = facts && (await applyInTransaction(tx, mirror, facts, row));
      const [changed] = await store.findLive(tx, [row.id]);
      // If the customer was deleted meanwhile, the refresh finds that out.
      const needsRefresh = applied?.needsRefresh || changed === undefined;
      // The external id stays reserved until the row shows it.
      if (!needsRefresh) await externalIds.endReservation(tx, claimId);
      return { result: changed ?? row, needsRefresh };
    },
    finishReservation: (claimId) => correctReserved(context, claimId),
    release: (tx, { resourceId }) => externalIds.endReservation(tx, resourceId),
  };
}

/** The customer already has, or is about to get, another external id than the one to adopt. */
export class OtherExternalId extends Error {
  readonly externalId: string;

  constructor(externalId: string) {
    super('the customer has another external id');
    this.externalId = externalId;
  }
}

/**
 * The steps of giving an external id to a customer without one. Unlike a request, it does not replace an external id
 * that another request has set, or is setting.
 */
export function externalIdAdoption(context: CustomerContext): CustomerUpdate {
  const { store, externalIds } = context;
  const update = customerUpdate(context);
  return {
    ...update,
    reserve: async (tx, claimId, request, admission) => {
      const { id, change } = request;
      const { externalId } = await store.readLive(tx, id);
      const reserved = await externalIds.findReserved(tx, id);
      const current = [externalId, ...reserved.map((one) => one.externalId)];
      const other = current.find((one) => one !== null && one !== change.externalId);
      if (other != null) throw new OtherExternalId(other);
      return update.reserve(tx, claimId, request, admission);
    },
  };
}
