import type { TestProcessor } from '../support/backend.ts';
import type { Client } from '../support/client.ts';
import {
  confirmPayment,
  confirmSecret,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  saveCard,
} from '../support/objects.ts';

/**
 * Creates one object of each kind: an open payment, an authorised one and a paid one, an active subscription, a
 * saved card, an unpaid subscription that it can pay, and another customer with a card that nothing needs.
 * Every mirror is up to date.
 */
export async function createOneOfEach(
  till: Client & Pick<TestProcessor, 'stripe'> & { settle(): Promise<void> },
) {
  const [customer, plan] = [await createCustomer(till), await createPlan(till)];
  const open = await createPayment(till, { customerId: customer.id });
  const authorised = await createPayment(till, { captureMethod: 'manual' });
  await confirmPayment(till, authorised);
  const paid = await createPaidPayment(till);
  const { subscription, clientSecret } = await createSubscription(till, {
    customerId: customer.id,
    planId: plan.id,
  });
  await confirmSecret(till, clientSecret);
  const { paymentMethodId } = await saveCard(till, customer);
  await till.call('PUT', `/customers/${customer.id}/default-payment-method`, { paymentMethodId });
  const { subscription: unpaid } = await createSubscription(till, { customerId: customer.id });
  const other = await createCustomer(till);
  const spare = { customer: other, paymentMethodId: (await saveCard(till, other)).paymentMethodId };
  await till.settle();
  return { customer, plan, open, authorised, paid, subscription, paymentMethodId, unpaid, spare };
}
