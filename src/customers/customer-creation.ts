import {
  type CheckedOperation,
  type FoundClaim,
  lookUpOf,
  type OperationWrite,
  ofSameRequest,
  type Recorded,
  type ReleasedClaim,
  ReservationHeld,
  type ReservingOperation,
} from '../idempotency/operation.ts';
import type { MirrorParts } from '../mirrors/mirror.ts';
import { untilSettled } from '../mirrors/refresh.ts';
import { type Customer, type CustomerFacts, externalIdTaken, hasValues } from '../model/customer.ts';
import type { Transaction } from '../platform/postgres.ts';
import type { CustomerValues } from '../processor/port/processor.ts';
import { type CustomerMirror, toCustomer } from './customer-mirror.ts';
import type { CustomerStore } from './customer-store.ts';
import type { ExternalIdStore } from './external-id-store.ts';

export interface CustomerParts extends MirrorParts {
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

/** The steps that a creation with and one without an external id share. */
class CustomerSteps {
  readonly name = 'customers.create';
  protected readonly parts: CustomerParts;

  constructor(parts: CustomerParts) {
    this.parts = parts;
  }

  parentIdOf(): null {
    return null;
  }

  async call(
    values: CustomerValues,
    { existing }: PreparedCustomer,
    write: OperationWrite,
  ): Promise<CustomerEffect> {
    if (existing !== null) return { existing };
    return { facts: await this.parts.processor.customers.create({ ...values, ...write }) };
  }

  existingIdOf(effect: CustomerEffect): string | null {
    return 'existing' in effect ? effect.existing.id : null;
  }

  idOf(effect: CustomerEffect): string | null {
    return 'existing' in effect ? null : effect.facts.localId;
  }

  async find(claim: FoundClaim): Promise<CustomerEffect | null> {
    const facts = ofSameRequest(claim, await this.parts.processor.customers.find(lookUpOf(claim)));
    return facts === null ? null : { facts };
  }

  async record(
    tx: Transaction,
    id: string,
    effect: CustomerEffect,
    isFound: boolean,
  ): Promise<Recorded<CreatedCustomer>> {
    const { store, externalIds, mirror, clock } = this.parts;
    if ('existing' in effect) return { result: { customer: effect.existing, isExisting: true } };
    // Another customer may have the external id by now.
    if (isFound) await mirror.apply(tx, [effect.facts], 'events');
    else await store.insert(tx, [toCustomer(id, effect.facts, clock.now())]);
    if (effect.facts.externalId !== null) await externalIds.endReservation(tx, id);
    return { result: { customer: await store.readLive(tx, id), isExisting: false } };
  }

  async release(tx: Transaction, { resourceId }: ReleasedClaim): Promise<void> {
    await this.parts.externalIds.endReservation(tx, resourceId);
  }

  async refresh({ customer, isExisting }: CreatedCustomer): Promise<CreatedCustomer> {
    const { store, mirror, database } = this.parts;
    await untilSettled(() => mirror.refresh(customer.processorCustomerId));
    return { customer: await store.readLive(database, customer.id), isExisting };
  }

  async replay(id: string, { parentId }: FoundClaim): Promise<CreatedCustomer> {
    const { store, database } = this.parts;
    const customer = await store.readLive(database, parentId ?? id);
    return { customer, isExisting: parentId !== null };
  }
}

/** The steps of creating a customer without an external id. */
export class CustomerCreation
  extends CustomerSteps
  implements CheckedOperation<CustomerValues, PreparedCustomer, CustomerEffect, CreatedCustomer>
{
  async prepare(): Promise<PreparedCustomer> {
    return { existing: null };
  }
}

type IdentifiedValues = CustomerValues & { readonly externalId: string };

/**
 * The steps of creating a customer with an external id, which is reserved before the call. Of several concurrent requests
 * one creates the customer; the others wait for it.
 */
export class IdentifiedCustomerCreation
  extends CustomerSteps
  implements ReservingOperation<IdentifiedValues, PreparedCustomer, CustomerEffect, CreatedCustomer>
{
  async reserve(tx: Transaction, id: string, values: IdentifiedValues): Promise<PreparedCustomer> {
    const { store, externalIds } = this.parts;
    const { externalId } = values;
    const holder = await reserveExternalId(
      tx,
      { store, externalIds },
      { externalId, customerId: id, claimId: id },
    );
    if (holder !== null && !hasValues(holder, values)) throw externalIdTaken(holder.id);
    return { existing: holder };
  }
}

interface Reservation {
  readonly externalId: string;
  readonly customerId: string;
  readonly claimId: string;
}

/** Reserves an external id. Returns the customer that already has it, if there is one. */
export async function reserveExternalId(
  tx: Transaction,
  { store, externalIds }: Pick<CustomerParts, 'store' | 'externalIds'>,
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
