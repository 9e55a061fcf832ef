import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { metadataKeysMax, metadataValueLengthMax } from '#core/model/metadata.ts';
import { featuresMax, isFeature, type PlanFeatures } from '#core/model/plan-features.ts';
import { seedOf } from '../../../../test/support/seeds.ts';
import { WireObject } from '../wire/wire-object.ts';
import { changedPlanMetadata, featuresOf, groupNameOf, newPlanMetadata } from './plan-metadata.ts';

/** The processor's limit. */
const keysMax = 50;
/** Till's id and the group. */
const otherKeys = 2;

const character = fc.constantFrom(...'aZ0 _-."\\\'{}[]:,é漢😀ÿ\uffe6');
const text = fc.oneof(
  fc.string({ unit: character, maxLength: 100 }),
  fc.constantFrom('', '"'.repeat(100), '\\'.repeat(100), '😀'.repeat(100), '漢'.repeat(100)),
);
const features: fc.Arbitrary<PlanFeatures> = fc.dictionary(
  fc.string({ unit: character, minLength: 1, maxLength: 40 }).filter((key) => isFeature(key, true)),
  fc.oneof(fc.boolean(), fc.maxSafeInteger(), text),
  { maxKeys: featuresMax, size: 'max' },
);

test('any features fit into the metadata, and are read back as they were', () => {
  fc.assert(
    fc.property(features, (written) => {
      const metadata = newPlanMetadata(written, 'base');
      assert.deepEqual(featuresOf(productWith(metadata)), { ...written });
      assert.equal(groupNameOf(productWith(metadata)), 'base');
      assertFits(metadata);
      const reversed = Object.fromEntries(Object.entries(written).toReversed());
      assert.deepEqual(newPlanMetadata(reversed, 'base'), metadata);
    }),
    { seed: seedOf('FUZZ') },
  );
});

test('the largest features that the API accepts fit into the metadata', () => {
  for (const unit of ['"', '\\', '😀', '漢']) {
    const entries = Array.from({ length: featuresMax }, (_, index) => [
      String(index).padEnd(40, '漢'),
      unit.repeat(100),
    ]);
    const largest: PlanFeatures = Object.fromEntries(entries);
    const metadata = newPlanMetadata(largest, null);
    assert.deepEqual(featuresOf(productWith(metadata)), largest);
    assertFits(metadata);
  }
});

test('a change replaces all features, whatever they were', () => {
  fc.assert(
    fc.property(features, features, (before, after) => {
      const change = changedPlanMetadata(after, undefined);
      const merged = Object.entries({ ...newPlanMetadata(before, 'base'), ...change });
      const left = Object.fromEntries(merged.filter(([, value]) => value !== null));
      assert.deepEqual(left, newPlanMetadata(after, 'base'));
    }),
    { seed: seedOf('FUZZ') },
  );
  assert.deepEqual(changedPlanMetadata(undefined, null), { till_group: null });
  assert.deepEqual(changedPlanMetadata(undefined, undefined), {});
});

test('an edit by hand that the API would not accept is ignored, and the rest stays', () => {
  for (const [edited, left] of [
    ['{"seats":5,', {}],
    ['not JSON', {}],
    ['[1]', {}],
    ['null', {}],
    ['', {}],
    [7, {}],
    ['{"seats":5}', { seats: 5 }],
    ['{"a":1.5,"b":null,"c":[],"d":{},"":1,"e":1e400,"f":true}', { f: true }],
    [
      JSON.stringify({
        ['k'.repeat(41)]: 1,
        b: 'v'.repeat(101),
        'c\u0000': 1,
        d: 'd\u0000',
        'e"': 1,
        f: 'x',
      }),
      { f: 'x' },
    ],
    ['{"__proto__":true}', Object.fromEntries([['__proto__', true]])],
  ] as const) {
    const product = productWith({ till_features_1: edited, till_features_3: '{"sso":true}' });
    assert.deepEqual(featuresOf(product), { ...left, sso: true }, String(edited));
  }
  for (const group of ['', ' base', 'a\u0007', 'x'.repeat(65), 7, null])
    assert.equal(groupNameOf(productWith({ till_group: group })), null);
  const tooMany = Array.from({ length: 60 }, (_, index) => [`f${index}`, index]);
  const many = productWith({ till_features_1: JSON.stringify(Object.fromEntries(tooMany)) });
  assert.equal(Object.keys(featuresOf(many)).length, featuresMax);
});

test('a product that shows no metadata has no features', () => {
  assert.deepEqual(featuresOf(WireObject.parse({ id: 'prod_1' }, 'product')), {});
  assert.deepEqual(featuresOf(productWith(null)), {});
});

function assertFits(metadata: Readonly<Record<string, string>>): void {
  assert.ok(Object.keys(metadata).length + otherKeys + metadataKeysMax <= keysMax + 1);
  for (const value of Object.values(metadata)) assert.ok(value.length <= metadataValueLengthMax);
}

function productWith(metadata: object | null): WireObject {
  return WireObject.parse({ id: 'prod_1', object: 'product', metadata }, 'product');
}
