/** What several operations refuse about the plans of a subscription. */

import { randomUUID } from 'node:crypto';
import { subscribed } from '../../support/changes.ts';
import { pages } from '../../support/checkouts.ts';
import { createCustomer, createPlan } from '../../support/objects.ts';
import { oncePer, type Prepared, type Recipe, type Recipes, type Scene } from './recipe.ts';

/** The processor allows fewer in any subscription, and in any checkout. */
const tooMany = 100;

/** How each operation sends these terms. A customer or a subscription that exists is used if it is given. */
const senders: Readonly<
  Record<string, (scene: Scene, terms: object, customerId?: string) => Promise<Prepared>>
> = {
  'POST /api/v1/subscriptions': create,
  'POST /api/v1/checkouts': async (scene, terms, customerId) => {
    const { body } = await create(scene, terms, customerId);
    return { body: { ...pages, ...Object(body) } };
  },
  'PATCH /api/v1/subscriptions/{id}': change,
  'POST /api/v1/subscriptions/{id}/preview': change,
};

const terms: Readonly<Record<string, (scene: Scene) => Promise<object>>> = {
  plan_archived: async (scene) => {
    const { id: planId } = await createPlan(scene);
    await scene.post(`/plans/${planId}/archive`);
    return { planId };
  },
  plan_is_add_on: async (scene) => ({ planId: (await createPlan(scene, { addOn: true })).id }),
  plan_is_no_add_on: async (scene) => withAddOn(await createPlan(scene)),
  currency_mismatch: async (scene) => withAddOn(await createPlan(scene, { addOn: true, currency: 'usd' })),
  interval_mismatch: async (scene) => withAddOn(await createPlan(scene, { addOn: true, interval: 'year' })),
  too_many_items: async (scene) => ({ addOns: await manyAddOns(scene) }),
};

export const planTerms: Recipes = {
  ...Object.fromEntries(
    Object.entries(terms).map(([code, termsOf]) => [
      code,
      Object.fromEntries(
        Object.entries(senders).map(([name, send]): [string, Recipe] => [
          name,
          async (scene) => send(scene, await oncePer(scene, code, () => termsOf(scene))),
        ]),
      ),
    ]),
  ),
  already_subscribed: Object.fromEntries(
    Object.entries(senders).map(([name, send]): [string, Recipe] => [
      name,
      async (scene) => {
        const { plan, subscription } = await oncePer(scene, 'grouped subscription', async () =>
          subscribed(scene, { planId: (await createPlan(scene, { group: randomUUID() })).id }),
        );
        return send(scene, { planId: plan.id }, subscription.customerId);
      },
    ]),
  ),
  promotion_code_invalid: Object.fromEntries(
    ['POST /api/v1/subscriptions', 'POST /api/v1/checkouts'].map((name): [string, Recipe] => [
      name,
      (scene) => senders[name]?.(scene, { promotionCode: 'UNKNOWN' }) ?? {},
    ]),
  ),
};

async function create(scene: Scene, values: object, customer?: string): Promise<Prepared> {
  const planId = await oncePer(scene, 'plan', async () => (await createPlan(scene)).id);
  const customerId =
    customer ?? (await oncePer(scene, 'customer', async () => (await createCustomer(scene)).id));
  return { body: { customerId, planId, ...values } };
}

async function change(scene: Scene, body: object, customerId?: string): Promise<Prepared> {
  const { subscription } =
    customerId === undefined
      ? await oncePer(scene, 'subscription', () => subscribed(scene))
      : await subscribed(scene, { customerId });
  return { id: subscription.id, body };
}

const withAddOn = ({ id: planId }: { readonly id: string }) => ({ addOns: [{ planId, quantity: 1 }] });

function manyAddOns(scene: Scene) {
  return oncePer(scene, 'add-ons', () =>
    Promise.all(
      Array.from({ length: tooMany }, async () => ({
        planId: (await createPlan(scene, { addOn: true })).id,
        quantity: 1,
      })),
    ),
  );
}
