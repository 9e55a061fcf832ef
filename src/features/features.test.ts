import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Subject } from '#processor/port/event-facts.ts';
import { eventTypes, features } from './features.ts';

test('every object has a type for its creation and one for a change that no other type describes', () => {
  // Usage is no object: an event says that a limit is reached.
  const changes = eventTypes.filter(({ shownBy }) => shownBy !== undefined);
  assert.ok(changes.length > 0);
  for (const { objectType, meanings } of changes)
    for (const what of ['created', 'updated']) assert.ok(`${objectType}.${what}` in meanings, objectType);
});

/** In the order in which every transaction locks the tables. The compiler checks that none is missing. */
const subjects = Object.keys({
  ...{ customer: 0, product: 0, price: 0 },
  ...{
    payment: 0,
    charge: 0,
    invoicePayment: 0,
    dispute: 0,
    unlinkedDispute: 0,
    refund: 0,
    refundedPayment: 0,
  },
  ...{ subscription: 0, changedSubscription: 0, expiredChange: 0, voidedInvoice: 0, detachedMethod: 0 },
  ...{ invoice: 0, checkout: 0 },
} satisfies Record<Subject, 0>);

test('each subject of an event has one mirror, and transactions lock their tables in one order', () => {
  // Any mirror.
  const context: never = new Proxy({} as never, { get: (): never => context });
  assert.deepEqual(
    features.flatMap((feature) => Object.keys(feature.subjects?.(context) ?? {})),
    subjects,
  );
});

test('no two resources have the same name for a list, an import, an object of a search or a type of event', () => {
  const namesOf = (of: (feature: (typeof features)[number]) => object | undefined) =>
    features.flatMap((feature) => Object.keys(of(feature) ?? {}));
  const types = eventTypes.flatMap(({ meanings }) => Object.keys(meanings));
  const all = [namesOf((one) => one.lists), namesOf((one) => one.imports), namesOf((one) => one.search)];
  for (const names of [...all, types]) {
    assert.ok(names.length > 0);
    assert.equal(new Set(names).size, names.length, names.join());
  }
});
