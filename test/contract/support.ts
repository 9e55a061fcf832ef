import type { TestContext } from 'node:test';
import Stripe from 'stripe';
import { startSandbox } from '../../sandbox/sandbox.ts';

export interface Contract {
  readonly stripe: Stripe;
  /** What has to be undone when the test is over, last first. */
  readonly cleanups: (() => Promise<unknown>)[];
}

/**
 * The client that the contract is checked with: against a fresh sandbox, or, when a processor test key is in the
 * environment, against the real processor's test mode. The suite says what both must do, so it uses nothing that only
 * one has.
 */
export async function useContract(t: TestContext): Promise<Contract> {
  const cleanups: Contract['cleanups'] = [];
  t.after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });
  const key = process.env['CONTRACT_SECRET_KEY'];
  if (key === undefined || key === '') {
    const sandbox = await startSandbox({ port: 0 });
    cleanups.push(() => sandbox.close());
    const stripe = new Stripe('sk_test_contract', {
      host: '127.0.0.1',
      port: sandbox.port,
      protocol: 'http',
      telemetry: false,
    });
    return { stripe, cleanups };
  }
  // The suite creates and refunds payments: it must never run on a live account.
  if (!/^(sk|rk)_test_/.test(key)) throw new Error('CONTRACT_SECRET_KEY must be a test-mode key (sk_test_…)');
  return { stripe: new Stripe(key, { telemetry: false }), cleanups };
}

/** A customer that is deleted when the test is over, with all its subscriptions. */
export async function contractCustomer({ stripe, cleanups }: Contract): Promise<Stripe.Customer> {
  const customer = await stripe.customers.create({
    email: 'contract@example.com',
    name: 'Contract',
    phone: '+15550100',
  });
  cleanups.push(async () => {
    const { deleted } = await stripe.customers.retrieve(customer.id);
    if (!deleted) await stripe.customers.del(customer.id);
  });
  return customer;
}

/** A recurring price, archived with its product when the test is over. */
export async function contractPrice(
  { stripe, cleanups }: Contract,
  unit_amount = 1_500,
  more: Partial<Stripe.PriceCreateParams> = {},
): Promise<Stripe.Price> {
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount,
    recurring: { interval: 'month' },
    product_data: { name: 'Contract plan' },
    ...more,
  });
  cleanups.push(async () => {
    await stripe.prices.update(price.id, { active: false });
    await stripe.products.update(String(price.product), { active: false });
  });
  return price;
}

/** A test clock, deleted with its customers when the test is over. */
export async function contractClock(
  { stripe, cleanups }: Contract,
  frozen_time: number,
): Promise<Stripe.TestHelpers.TestClock> {
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time, name: 'Contract' });
  cleanups.push(() => stripe.testHelpers.testClocks.del(clock.id).catch(() => {}));
  return clock;
}

/** Advances the clock and waits until it is ready. */
export async function advanceClock({ stripe }: Contract, id: string, frozen_time: number): Promise<void> {
  await stripe.testHelpers.testClocks.advance(id, { frozen_time });
  while ((await stripe.testHelpers.testClocks.retrieve(id)).status === 'advancing');
}

/** The processor sends events and opens disputes within seconds of the request. Each attempt is a request too. */
const attemptsMax = 300;

/** Reads until there is something to see. */
export async function eventually<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const found = await read();
    if (found !== undefined) return found;
  }
  throw new Error(`nothing to see after ${attemptsMax} attempts`);
}
