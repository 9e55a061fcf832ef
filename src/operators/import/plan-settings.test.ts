import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PlanFacts } from '#core/model/plan.ts';
import { PlanEntryError, parsePlanEntries } from './plan-entries.ts';
import { missingSettings, parseFeatures, resolveEntries, templateOf, withSettings } from './plan-settings.ts';

const asOf = { earliest: new Date(0), latest: new Date(0) };

function plan(
  processorPriceId: string,
  processorProductId: string,
  {
    product = {},
    price = {},
  }: { product?: Partial<PlanFacts['product']>; price?: Partial<PlanFacts['price']> } = {},
): PlanFacts {
  const shared = { localId: null, processorProductId, active: true, createdAt: new Date(0), asOf };
  return {
    product: { ...shared, name: 'Pro', metadata: {}, features: {}, groupName: null, ...product },
    price: {
      ...{ ...shared, processorPriceId, amount: 900, currency: 'eur', interval: 'month', intervalCount: 1 },
      ...{ addOn: false, repeatable: true, ...price },
    },
  };
}

const account = [
  plan('price_m', 'prod_pro'),
  plan('price_y', 'prod_pro'),
  plan('price_seat', 'prod_seat'),
  plan('price_tiered', 'prod_tiered', { price: { obstacle: 'tiered' } }),
];

const resolve = (entries: object) => resolveEntries(parsePlanEntries(JSON.stringify(entries)), account);

function mistakesOf(entries: unknown): readonly string[] {
  const text = typeof entries === 'string' ? entries : JSON.stringify(entries);
  try {
    resolveEntries(parsePlanEntries(text), account);
    return [];
  } catch (error) {
    assert.ok(error instanceof PlanEntryError, String(error));
    return error.message.split('\n');
  }
}

describe('the entries of plans', () => {
  test('set the group, features and name of the product, and addOn and repeatable of the price', () => {
    const { products, prices } = resolve({
      price_m: { group: 'base', features: { sso: true } },
      price_y: { group: 'base', name: 'Pro 2' },
      price_seat: { addOn: true, repeatable: false },
    });
    assert.deepEqual(
      [...products],
      [['prod_pro', { group: 'base', features: { sso: true }, name: 'Pro 2' }]],
    );
    assert.deepEqual([...prices], [['price_seat', { addOn: true, repeatable: false }]]);
  });

  test('of a product set addOn and repeatable for its prices that have no entry with them', () => {
    const { prices } = resolve({ prod_pro: { addOn: true, repeatable: false }, price_y: { addOn: false } });
    assert.deepEqual(Object.fromEntries(prices), {
      price_m: { addOn: true, repeatable: false },
      price_y: { addOn: false, repeatable: false },
    });
  });

  test('name every mistake', () => {
    const mistakes = (entries: unknown, ...expected: readonly RegExp[]) => {
      const found = mistakesOf(entries);
      assert.equal(found.length, expected.length, found.join('\n'));
      for (const [index, one] of expected.entries()) assert.match(found[index] ?? '', one);
    };
    mistakes('{', /^It is not JSON/);
    mistakes([], /^It must be a JSON object/);
    mistakes({ price_m: 7 }, /^price_m: must be an object/);
    mistakes(
      { price_m: { grp: 'x' } },
      /^price_m: "grp" is unknown\. Known are name, group, features, addOn, repeatable/,
    );
    mistakes({ price_m: { name: '' } }, /^price_m: name must be/);
    mistakes({ price_m: { name: 'x'.repeat(257) } }, /^price_m: name must be/);
    mistakes({ price_m: { group: ' x' } }, /^price_m: group must be/);
    mistakes({ price_m: { group: 'x'.repeat(65) } }, /^price_m: group must be/);
    mistakes({ price_m: { addOn: 'yes' } }, /^price_m: addOn must be/);
    mistakes({ price_m: { repeatable: null } }, /^price_m: repeatable must be/);
    mistakes({ price_m: { addOn: true, group: 'x' } }, /^price_m: an add-on is in no group/);
    mistakes({ price_m: { features: [] } }, /^price_m: features must be an object/);
    mistakes({ price_m: { features: { seats: 1.5 } } }, /^price_m: the feature "seats" is invalid/);
    mistakes({ price_m: { features: { a: 'x'.repeat(101) } } }, /the feature "a" is invalid/);
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`f${index}`, true]));
    mistakes({ price_m: { features: many } }, /has 51 features, and the limit is 50/);
    mistakes({ price_x: {} }, /^price_x: the account has no price and no product/);
    mistakes({ price_tiered: {} }, /^price_tiered: The price has tiers/);
    mistakes(
      { price_m: { group: 'a', features: { sso: true } }, price_y: { group: 'b', features: { sso: true } } },
      /^price_m and price_y have different values of group, which belongs to their product prod_pro/,
    );
    mistakes(
      { price_m: { name: 'A' }, prod_pro: { name: 'B' }, price_x: {} },
      /^price_m and prod_pro have different values of name/,
      /^price_x/,
    );
  });

  describe('refuse what the metadata of the product has no room for', () => {
    const withKeys = (count: number, product: Partial<PlanFacts['product']> = {}) => {
      const metadata = Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'x']));
      return [plan('price_m', 'prod_pro', { product: { ...product, metadata } })];
    };
    const resolveIn = (prices: readonly PlanFacts[], entry: object) =>
      resolveEntries(parsePlanEntries(JSON.stringify({ price_m: entry })), prices);

    test('which are the keys of its features, and of its group', () => {
      resolveIn(withKeys(48), { features: { a: 1, b: 2, c: 3 } });
      assert.throws(
        () => resolveIn(withKeys(49), { features: { a: 1, b: 2, c: 3 } }),
        /has 49 metadata keys, and its features and group need up to 2 more/,
      );
      assert.throws(() => resolveIn(withKeys(49), { group: 'base', features: { a: 1 } }), /up to 2 more/);
      assert.throws(() => resolveIn(withKeys(49, { groupName: 'base' }), { features: { a: 1 } }), /2 more/);
      assert.throws(() => resolveIn(withKeys(50), { group: 'base' }), /up to 1 more/);
      resolveIn(withKeys(49, { groupName: 'base' }), { group: null, features: { a: 1 } });
    });

    test('and never what it has already, such as the values of its template', () => {
      const features = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`f${index}`, true]));
      for (const product of [{}, { groupName: 'base' }, { features }, { features, groupName: 'base' }])
        for (const count of [40, 49, 50]) {
          const prices = withKeys(count, product);
          resolveEntries(parsePlanEntries(JSON.stringify(templateOf(prices))), prices);
          resolveIn(prices, { name: 'Pro 2' });
        }
    });
  });
});

test('only what differs is written, so that a second run writes nothing', () => {
  const settings = resolve({
    price_m: { group: 'base', features: { seats: 5 }, name: 'Pro' },
    price_seat: { addOn: true, repeatable: true },
    price_y: { repeatable: false },
  });
  const missing = missingSettings(settings, account);
  assert.deepEqual([...missing.products], [['prod_pro', { group: 'base', features: { seats: 5 } }]]);
  // A price that Till did not create is repeatable already.
  assert.deepEqual(Object.fromEntries(missing.prices), {
    price_seat: { addOn: true },
    price_y: { repeatable: false },
  });
  const after = account.map((facts) => withSettings(facts, settings));
  const again = missingSettings(settings, after);
  assert.deepEqual([again.products.size, again.prices.size], [0, 0]);
});

describe('the template', () => {
  test('has every price that can be a plan, and resolves to no change of what Till keeps', () => {
    const own = { features: { sso: true }, groupName: 'base' };
    const prices = [
      plan('price_m', 'prod_pro', { product: own }),
      plan('price_add', 'prod_pro', { product: own, price: { addOn: true } }),
      plan('price_tiered', 'prod_pro', { product: own, price: { obstacle: 'tiered' } }),
    ];
    const template = templateOf(prices);
    assert.deepEqual(template, {
      price_m: { name: 'Pro', group: 'base', repeatable: true, features: { sso: true }, addOn: false },
      price_add: { name: 'Pro', features: { sso: true }, addOn: true },
    });
    const settings = resolveEntries(parsePlanEntries(JSON.stringify(template)), prices);
    const missing = missingSettings(settings, prices);
    assert.deepEqual([missing.products.size, missing.prices.size], [0, 0]);
  });

  test('leaves out a name that is longer than that of a plan can be', () => {
    const prices = [plan('price_m', 'prod_pro', { product: { name: 'n'.repeat(257) } })];
    const template = templateOf(prices);
    const settings = resolveEntries(parsePlanEntries(JSON.stringify(template)), prices);
    assert.deepEqual(template, {
      price_m: { group: null, repeatable: true, features: {}, addOn: false },
    });
    assert.equal(missingSettings(settings, prices).products.size, 0);
  });

  test("takes features and groups from the product's metadata", () => {
    const metadata = { features: 'sso, export', group: ' base ' };
    assert.deepEqual(templateOf([plan('price_m', 'prod_pro', { product: { metadata } })]), {
      price_m: {
        ...{ name: 'Pro', group: 'base', repeatable: true, addOn: false },
        features: { sso: true, export: true },
      },
    });
    assert.deepEqual(parseFeatures('{"seats":5,"sso":true,"odd":1.5,"none":null}'), { seats: 5, sso: true });
    assert.deepEqual(parseFeatures('["sso","export"]'), { sso: true, export: true });
    for (const text of ['', 'null', '[7]', '{"a":{}}']) assert.deepEqual(parseFeatures(text), {});
  });
});
