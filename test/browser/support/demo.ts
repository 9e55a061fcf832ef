import { confirmPayment, confirmSecret, createCustomer, createSubscription } from '../../support/objects.ts';
import type { TillInProcess } from '../../support/till-in-process.ts';
import { createWorld, type World } from './world.ts';

const people = ['Grace Hopper', 'Alan Turing', 'Katherine Johnson', 'Edsger Dijkstra', 'Barbara Liskov'];
/** The currency and the amount of each order, repeated. */
const orders = [
  ['eur', 4_900],
  ['eur', 12_500],
  ['usd', 8_900],
  ['eur', 1_950],
  ['eur', 7_400],
  ['jpy', 6_800],
  ['eur', 9_900],
] as const;
const ordersMax = 60;
/** The others have paid for their subscriptions. */
const trialsMax = 2;
/** Every so often a card is declined. */
const declinedEvery = 9;
/** How far back the orders go. */
const days = 30;

/** The world of the tests with more customers and a month of orders, for pictures. It is the same every time. */
export async function createDemo(till: TillInProcess): Promise<World> {
  const world = await createWorld(till);
  const customers = [];
  for (const name of people) {
    const email = `${name.toLowerCase().replace(' ', '.')}@example.com`;
    customers.push(await createCustomer(till, { name, email }));
  }
  for (let index = 0; index < ordersMax; index += 1) {
    const [currency, amount] = orders[index % orders.length] ?? orders[0];
    const { payment } = await till.post<{ payment: { processorPaymentIntentId: string } }>('/payments', {
      customerId: customers[index % customers.length]?.id,
      amount,
      currency,
      description: `Order ${2_000 + index}`,
    });
    const isDeclined = index % declinedEvery === declinedEvery - 1;
    const card = isDeclined ? 'pm_card_visa_chargeDeclined' : 'pm_card_mastercard';
    await confirmPayment(till, payment, card).catch(() => {});
  }
  for (const [index, { id: customerId }] of customers.entries()) {
    const order = { customerId, planId: world.plan.id };
    if (index < trialsMax) await createSubscription(till, { ...order, trialPeriodDays: 14 });
    else await confirmSecret(till, (await createSubscription(till, order)).clientSecret);
  }
  await till.settle();
  await spreadPayments(till);
  await till.services.overviewFollower.correct();
  return world;
}

/** As if the payments had been made one after the other until now, and not within a second. */
async function spreadPayments({ sql }: TillInProcess): Promise<void> {
  await sql(
    `update till.payments set created_at = now() - make_interval(hours => round(age * 24 * $1)::int)
     from (select id as spread_id, percent_rank() over (order by created_at desc) as age from till.payments) as spread
     where id = spread_id`,
    [days],
  );
}
