import { Failure } from '../errors.ts';
import type { DatedRow, OwnFacts } from '../mirrors/facts.ts';
import { type Origin, type TransitionTable, takeValues, type Verdict } from '../mirrors/transition.ts';

export interface Customer extends DatedRow {
  readonly processorCustomerId: string;
  /** Null after deletion, like name and phone. */
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly deletedAt: Date | null;
}

export interface CustomerFacts extends OwnFacts {
  readonly processorCustomerId: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly deleted: boolean;
}

export type CustomerState = 'live' | 'deleted';

/** Deletion is final: a late change never restores personal data. */
export const customerTransitions: TransitionTable<CustomerState> = {
  live: { live: 'if newer', deleted: 'always' },
  deleted: { live: 'never', deleted: 'never' },
};

/** Decides whether the facts change the row, and returns the row with the facts applied. */
export function takeCustomerFacts(
  customer: Customer,
  facts: CustomerFacts,
  origin: Origin,
  now: Date,
): { readonly verdict: Verdict; readonly row: Customer } {
  const from = customer.deletedAt === null ? 'live' : 'deleted';
  const to = facts.deleted ? 'deleted' : 'live';
  // A Till customer always has an email address, so clearing it elsewhere changes nothing.
  const values = { email: facts.email ?? customer.email, name: facts.name, phone: facts.phone };
  const rule = customerTransitions[from][to];
  const { verdict, row } = takeValues(customer, values, { rule, origin, asOf: facts.asOf, now });
  return { verdict, row: facts.deleted ? eraseCustomer(row, now) : row };
}

/** A deleted customer keeps its ids and times, and no personal data. */
export function eraseCustomer(customer: Customer, now: Date): Customer {
  return { ...customer, email: null, name: null, phone: null, deletedAt: now, updatedAt: now };
}

type CustomerData = Pick<Customer, 'email' | 'name' | 'phone'>;

/**
 * Whether the processor's response to an update still shows an old value. The response need not equal the request,
 * because the processor may normalize texts.
 */
export function isChangeIgnored(
  before: CustomerData,
  change: Partial<CustomerData>,
  after: CustomerData,
): boolean {
  const fields = ['email', 'name', 'phone'] as const;
  return fields.some((field) => {
    const requested = change[field];
    if (requested === undefined || normalized(requested) === normalized(before[field])) return false;
    // Normalizing changes a text, but it does not clear a text that was set or keep one that was cleared.
    return after[field] === before[field] || (requested === null) !== (after[field] === null);
  });
}

function normalized(text: string | null): string {
  return (text ?? '').trim().toLowerCase();
}

export function foundCustomer(customer: Customer | undefined): Customer {
  if (customer === undefined) throw customerNotFound();
  return customer;
}

export function customerNotFound(): Failure {
  return new Failure('not_found', 'No customer has this id. Check the id.');
}
