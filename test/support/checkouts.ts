import assert from 'node:assert/strict';
import type { TestProcessor } from './backend.ts';
import { type Client, readJson } from './client.ts';
import type { AddOnBody } from './objects.ts';

export interface CheckoutBody {
  readonly id: string;
  readonly processorCheckoutSessionId: string;
  readonly customerId: string;
  readonly mode: string;
  readonly status: string;
  readonly paymentStatus: string;
  readonly planId: string | null;
  readonly quantity: number | null;
  readonly addOns: readonly AddOnBody[];
  readonly trialPeriodDays: number | null;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly subscriptionId: string | null;
  readonly paymentId: string | null;
  readonly paymentMethodId: string | null;
  readonly expiresAt: string;
  readonly completedAt: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface OpenedBody {
  readonly checkout: CheckoutBody;
  readonly url: string | null;
}

export const pages = {
  successUrl: 'https://shop.example.com/welcome?checkout={CHECKOUT_ID}',
  cancelUrl: 'https://shop.example.com/prices',
};

export async function createCheckout(till: Client, body: object, status = 201): Promise<OpenedBody> {
  return readJson<OpenedBody>(await till.call('POST', '/checkouts', { ...pages, ...body }), status);
}

export function readCheckout(till: Client, { id }: { readonly id: string }): Promise<OpenedBody> {
  return till.get(`/checkouts/${id}`);
}

/** Does what a buyer does on the page. Returns the status of the session. */
export async function completeCheckout(
  { control }: TestProcessor,
  { processorCheckoutSessionId: key }: CheckoutBody,
  entered: object = {},
): Promise<string> {
  const session = Object(await control(`checkout_sessions/${key}/complete`, entered));
  assert.ok(typeof session.status === 'string');
  return session.status;
}
