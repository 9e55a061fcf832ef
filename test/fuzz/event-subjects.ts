import { randomUUID } from 'node:crypto';
import { eventFixture } from '../fixtures/event-fixture.ts';
import { createCheckout } from '../support/checkouts.ts';
import { readRefunds } from '../support/objects.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { createOneOfEach } from './one-of-each.ts';

/** Maps the ids in the fixtures to the ids of objects that exist. */
export type Subjects = ReadonlyMap<string, string>;

/** The ids of Till in the metadata of the fixtures; the last digit is the kind of resource. */
const localId = (digit: string) => `"0199d3a2-0000-7000-8000-00000000000${digit}"`;

/** Creates objects for events to name, so that what is wrong in the events reaches the rows. */
export async function createSubjects(till: TillInProcess): Promise<Subjects> {
  const { customer, plan, open, paid, subscription } = await createOneOfEach(till);
  await till.post(`/payments/${paid.id}/refund`, { amount: 500 });
  const { checkout } = await createCheckout(till, { customerId: customer.id, saveCard: true });
  await till.settle();
  const [refund] = await readRefunds(till, paid);
  const [invoice] = await till.sql<{ id: string }>(
    'select processor_invoice_id as id from till.invoices where processor_subscription_id = $1',
    [subscription.processorSubscriptionId],
  );
  return new Map([
    ['"cus_1"', customer.processorCustomerId],
    ['"prod_1"', plan.processorProductId],
    ['"price_1"', plan.processorPriceId],
    ['"sub_1"', subscription.processorSubscriptionId],
    ['"in_1"', invoice?.id ?? 'in_1'],
    ['"re_1"', refund?.processorRefundId ?? 're_1'],
    ['"pi_1"', open.processorPaymentIntentId],
    ['"cs_1"', checkout.processorCheckoutSessionId],
    [localId('a'), customer.id],
    [localId('b'), plan.id],
    [localId('c'), open.id],
    [localId('d'), subscription.id],
    [localId('e'), refund?.id ?? randomUUID()],
    [localId('f'), checkout.id],
    // What was refunded or disputed is what was paid.
    ['refund "pi_1"', paid.processorPaymentIntentId],
  ]);
}

/** A fixture with the ids of the subjects. */
export function fixtureAbout(name: string, subjects: Subjects): string {
  const isPaid = name.includes('refund') || name.includes('dispute');
  const intent = isPaid ? subjects.get('refund "pi_1"') : subjects.get('"pi_1"');
  let text = eventFixture(name).replaceAll('"pi_1"', JSON.stringify(intent));
  for (const [from, to] of subjects) text = text.replaceAll(from, JSON.stringify(to));
  return text;
}
