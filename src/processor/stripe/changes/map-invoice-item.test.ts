import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapInvoiceItem, restoredItemParams, waitedMark } from './map-invoice-item.ts';

const item = {
  id: 'ii_1',
  object: 'invoiceitem',
  amount: -450,
  currency: 'eur',
  customer: 'cus_1',
  date: 1_700_000_000,
  description: 'Unused time on Gold',
  discountable: false,
  invoice: 'in_1',
  metadata: {},
  parent: { type: 'subscription_details', subscription_details: { subscription: 'sub_1' } },
  period: { start: 1_700_000_000, end: 1_701_000_000 },
  proration: true,
  quantity: 1,
  tax_rates: [],
};

const restored = {
  customer: 'cus_1',
  subscription: 'sub_1',
  amount: -450,
  currency: 'eur',
  description: 'Unused time on Gold',
  discountable: false,
  period: { start: 1_700_000_000, end: 1_701_000_000 },
  metadata: { till_restores: 'ii_1' },
};

test('a restored item bills the same, and names the item that it restores', () => {
  assert.deepEqual(restoredItemParams(mapInvoiceItem(item)), restored);
});

test('a restored item keeps tax rates and metadata, but not the mark or the id of an earlier item', () => {
  const metadata = { ticket: '7', ...waitedMark, till_restores: 'ii_0' };
  const mapped = mapInvoiceItem({ ...item, metadata, tax_rates: [{ id: 'txr_1', object: 'tax_rate' }] });
  assert.deepEqual([mapped.waited, mapped.restores], [true, 'ii_0']);
  assert.deepEqual(restoredItemParams(mapped), {
    ...restored,
    tax_rates: ['txr_1'],
    metadata: { ticket: '7', till_restores: 'ii_1' },
  });
});

test('an item without subscription, description or metadata is readable', () => {
  const mapped = mapInvoiceItem({ ...item, parent: null, description: null, metadata: null });
  const { subscription: _, description: __, ...others } = restored;
  assert.deepEqual(restoredItemParams(mapped), others);
  assert.deepEqual([mapped.waited, mapped.restores, mapped.processorSubscriptionId], [false, null, null]);
});
