import type { CustomerFacts } from '#core/model/customer.ts';
import { type DatedRow, type Origin, rowTime, type Taken, takeValues } from '#core/model/facts.ts';
import { derivedId } from '#core/platform/id.ts';

/** Whom to write to: a made-up resource, which shows that a resource is one folder. */
export interface Contact extends DatedRow {
  readonly processorCustomerId: string;
  readonly customerId: string;
  readonly email: string | null;
  readonly name: string | null;
}

export function newContact(facts: CustomerFacts, customerId: string, now: Date): Contact {
  const { processorCustomerId, email, name, asOf, createdAt } = facts;
  const id = derivedId('contact', processorCustomerId, createdAt);
  const times = { ...rowTime(asOf), createdAt, updatedAt: now };
  return { ...{ id, processorCustomerId, customerId, email, name }, ...times, revision: 0 };
}

export function takeContact(row: Contact, facts: CustomerFacts, origin: Origin, now: Date): Taken<Contact> {
  const { email, name, asOf } = facts;
  return takeValues(row, { email, name }, { rule: 'if newer', origin, asOf, now });
}

export type ContactView = ReturnType<typeof contactView>;

export function contactView({ id, processorCustomerId, email, name, createdAt, updatedAt }: Contact) {
  const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
  return { id, processorCustomerId, email, name, ...times };
}
