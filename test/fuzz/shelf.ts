import { newCustomer, newPaidPayment, newPayment, newPlan, newSubscription, pay } from '../webhooks/shop.ts';
import type { WebhookTill } from '../webhooks/webhook-till.ts';

/** One fresh thing of each kind: an open payment and a paid one, an active subscription. Every mirror is up to date. */
export async function fillShelf(till: WebhookTill) {
  const [customer, plan] = [await newCustomer(till), await newPlan(till)];
  const open = await newPayment(till, customer.id);
  const paid = await newPaidPayment(till);
  const { subscription, intentId } = await newSubscription(till, customer.id, plan.id);
  await pay(till, intentId);
  await till.settle();
  return { customer, plan, open, paid, subscription };
}
