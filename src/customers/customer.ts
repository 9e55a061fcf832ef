import { Failure } from '../errors.ts';
import { asOfRow, laterOf, type OwnFacts, rowTime } from '../mirrors/facts.ts';
import { judge, type Origin, type TransitionTable, type Verdict } from '../mirrors/transition.ts';

export interface Customer {
  readonly id: string;
  readonly processorCustomerId: string;
  /** Null once deleted, as are name and phone. */
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly deletedAt: Date | null;
  readonly processorAsOf: Date;
  readonly processorAsOfLatest: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Rises with every change of the row. */
  readonly revision: number;
}

export interface CustomerFacts extends OwnFacts {
  readonly processorCustomerId: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly deleted: boolean;
}

export type CustomerState = 'live' | 'deleted';

/** Deleted is the end: a late change never brings a person's data back. */
export const customerTransitions: TransitionTable<CustomerState> = {
  live: { live: 'if newer', deleted: 'always' },
  deleted: { live: 'never', deleted: 'never' },
};

/** What a customer becomes when the processor says this of it. */
export function takeCustomerFacts(
  customer: Customer,
  facts: CustomerFacts,
  origin: Origin,
  now: Date,
): { readonly verdict: Verdict; readonly row: Customer } {
  const from = customer.deletedAt === null ? 'live' : 'deleted';
  const to = facts.deleted ? 'deleted' : 'live';
  // A Till customer always has an address; one that was cleared elsewhere is no news.
  const values = { email: facts.email ?? customer.email, name: facts.name, phone: facts.phone };
  const isSame =
    customer.email === values.email && customer.name === values.name && customer.phone === values.phone;
  const verdict = judge({
    rule: customerTransitions[from][to],
    origin,
    isSame: from === to && isSame,
    rowAsOf: asOfRow(customer),
    factsAsOf: facts.asOf,
  });
  const time = rowTime(laterOf(asOfRow(customer), facts.asOf));
  if (facts.deleted) return { verdict, row: eraseCustomer({ ...customer, ...time }, now) };
  return {
    verdict,
    row: { ...customer, ...values, ...time, updatedAt: isSame ? customer.updatedAt : now },
  };
}

/** What is left of a deleted customer: that it was there. */
export function eraseCustomer(customer: Customer, now: Date): Customer {
  return { ...customer, email: null, name: null, phone: null, deletedAt: now, updatedAt: now };
}

type CustomerData = Pick<Customer, 'email' | 'name' | 'phone'>;

/**
 * Whether the processor's answer to a change still shows the value before it. The answer need not be equal to the
 * request: the processor may tidy texts up.
 */
export function isChangeIgnored(
  before: CustomerData,
  change: Partial<CustomerData>,
  after: CustomerData,
): boolean {
  const fields = ['email', 'name', 'phone'] as const;
  return fields.some((field) => {
    const requested = change[field];
    if (requested === undefined || tidied(requested) === tidied(before[field])) return false;
    // The processor may write a text in its own way, but it neither drops one that was set nor keeps one that was cleared.
    return after[field] === before[field] || (requested === null) !== (after[field] === null);
  });
}

function tidied(text: string | null): string {
  return (text ?? '').trim().toLowerCase();
}

export function foundCustomer(customer: Customer | undefined): Customer {
  if (customer === undefined) throw customerNotFound();
  return customer;
}

export function customerNotFound(): Failure {
  return new Failure('not_found', 'No customer has this id. Check the id.');
}
