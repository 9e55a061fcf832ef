import { type Client, readJson } from './client.ts';
import {
  type CreatedSubscriptionBody,
  confirmSecret,
  createPlan,
  createSubscription,
  type PlanBody,
  type SubscriptionBody,
} from './objects.ts';
import type { TillInProcess } from './till-in-process.ts';

export const daySeconds = 86_400;

/** An active subscription to a plan of 9.00 a day, paid with a card of its own. Till knows that it is active. */
export async function subscribe(
  till: TillInProcess,
  values: { readonly plan?: PlanBody; readonly customerId?: string } = {},
): Promise<SubscriptionBody> {
  const plan = values.plan ?? (await createPlan(till, { interval: 'day' }));
  const { customerId } = values;
  const { subscription, clientSecret } = await createSubscription(till, {
    planId: plan.id,
    ...(customerId === undefined ? {} : { customerId }),
  });
  await confirmSecret(till, clientSecret);
  await till.settle();
  return till.get(`/subscriptions/${subscription.id}`);
}

/** Changes a subscription through the API. */
export function patch(
  { call }: Client,
  { id }: { readonly id: string },
  body: object,
  key?: string,
): Promise<Response> {
  return call('PATCH', `/subscriptions/${id}`, key === undefined ? body : { ...body, idempotencyKey: key });
}

export async function changed(
  till: Client,
  subscription: { readonly id: string },
  body: object,
  key?: string,
): Promise<SubscriptionBody> {
  const response = await patch(till, subscription, body, key);
  return (await readJson<CreatedSubscriptionBody>(response, 200)).subscription;
}
