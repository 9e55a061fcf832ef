import { type Customer, type CustomerFacts, externalIdTaken, hasValues } from '#core/model/customer.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import {
  type CheckedOperation,
  lookUpOf,
  ofSameRequest,
  ReservationHeld,
  type ReservingOperation,
} from '#engine/idempotency/operation.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { untilSettled } from '#engine/mirrors/refresh.ts';
import type { CustomerValues } from '#processor/port/processor.ts';
import { type CustomerMirror, toCustomer } from './customer-mirror.ts';
import type { CustomerStore } from './customer-store.ts';
import type { ExternalIdStore } from './external-id-store.ts';

export interface CustomerContext extends MirrorContext {
  readonly idempotency: IdempotencyService;
  readonly store: CustomerStore;
  readonly externalIds: ExternalIdStore;
  readonly mirror: CustomerMirror;
}

export interface CreatedCustomer {
  readonly customer: Customer;
  /** The customer with this external id existed before, so nothing was created. */
  readonly isExisting: boolean;
}

interface PreparedCustomer {
  /** The customer that has the external id, and the requested values. */
  readonly existing: Customer | null;
}

type CustomerEffect = { readonly existing: Customer } | { readonly facts: CustomerFacts };

export type CustomerCreation = CheckedOperation<
  CustomerValues,
  PreparedCustomer,
  CustomerEffect,
  CreatedCustomer
>;

/** The steps of creating a customer without an external id. */
export function customerCreation(context: CustomerContext): CustomerCreation {
  return { ...customerSteps(context), prepare: async () => ({ existing: null }) };
}

type IdentifiedValues = CustomerValues & { readonly externalId: string };

export type IdentifiedCustomerCreation = ReservingOperation<
  IdentifiedValues,
  PreparedCustomer,
  CustomerEffect,
  CreatedCustomer
>;

/**
 * The steps of creating a customer with an external id, which is reserved before the call. Of several concurrent
 * requests one creates the customer; the others wait for it.
 */
export function identifiedCustomerCreation(context: CustomerContext): IdentifiedCustomerCreation {
  return {
    ...customerSteps(context),
    reserve: async (tx, id, values) => {
      const { externalId } = values;
      const holder = await reserveExternalId(tx, context, { externalId, customerId: id, claimId: id });
      if (holder !== null && !hasValues(holder, values)) throw externalIdTaken(holder.id);
      return { existing: holder };
    },
  };
}

/** The steps that a creation with and one without an external id share. */
function customerSteps(context: CustomerContext): Omit<CustomerCreation, 'prepare'> {
  const { database, store, externalIds, mirror, processor, clock } = context;
  return {
    name: 'customers.create',
    parentIdOf: () => null,
    call: async (values, { existing }, write) => {
      if (existing !== null) return { existing };
      return { facts: await processor.customers.create({ ...values, ...write }) };
    },
    existingIdOf: (effect) => ('existing' in effect ? effect.existing.id : null),
    idOf: (effect) => ('existing' in effect ? null : effect.facts.localId),
    find: async (claim) => {
      const facts = ofSameRequest(claim, await processor.customers.find(lookUpOf(claim)));
      return facts === null ? null : { facts };
    },
    record: async (tx, id, effect, isFound) => {
      if ('existing' in effect) return { result: { customer: effect.existing, isExisting: true } };
      // Another customer may have the external id by now.
      if (isFound) await mirror.apply(tx, [effect.facts], 'events');
      else await store.insert(tx, [toCustomer(id, effect.facts, clock.now())]);
      if (effect.facts.externalId !== null) await externalIds.endReservation(tx, id);
      return { result: { customer: await store.readLive(tx, id), isExisting: false } };
    },
    finishReservation: (claimId) => correctReserved(context, claimId),
    release: (tx, { resourceId }) => externalIds.endReservation(tx, resourceId),
    refresh: async ({ customer, isExisting }) => {
      await untilSettled(() => mirror.refresh(customer.processorCustomerId));
      return { customer: await store.readLive(database, customer.id), isExisting };
    },
    replay: async (id, { parentId }) => {
      const customer = await store.readLive(database, parentId ?? id);
      return { customer, isExisting: parentId !== null };
    },
  };
}

interface Reservation {
  readonly externalId: string;
  readonly customerId: string;
  readonly claimId: string;
}

/** Reserves an external id. Returns the customer that already has it, if there is one. */
export async function reserveExternalId(
  tx: Transaction,
  { store, externalIds }: Pick<CustomerContext, 'store' | 'externalIds'>,
  reservation: Reservation,
): Promise<Customer | null> {
  const { externalId, customerId } = reservation;
  const holder = await externalIds.reserve(tx, reservation);
  if (holder.customerId === customerId) return null;
  const [customer] = await store.findLive(tx, [holder.customerId]);
  if (customer?.externalId === externalId) return customer;
  // The claim of a creation has the id of the customer. The claim of a change has its own id, and its values are
  // unknown here.
  if (holder.claimId !== null)
    throw new ReservationHeld(holder.claimId, holder.claimId === holder.customerId ? 'resume' : 'fail');
  await externalIds.replace(tx, reservation);
  return null;
}

/**
 * Corrects the row of the customer for which an ended claim still reserves an external id. The claim was recorded while
 * the row changed, so the row may not show the external id yet. A customer that the processor does not know has none.
 */
export async function correctReserved(
  { database, store, externalIds, mirror }: CustomerContext,
  claimId: string,
): Promise<void> {
  const customerId = await externalIds.findCustomer(database, claimId);
  const [row] = customerId === undefined ? [] : await store.find(database, [customerId]);
  if (row !== undefined) await untilSettled(() => mirror.refresh(row.processorCustomerId));
}
