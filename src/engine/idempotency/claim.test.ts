import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashRequest, markOf, processorKey } from './claim.ts';

const claim = {
  operation: 'payments.create',
  keyName: 'shop',
  key: 'order-7',
  requestHash: hashRequest({ amount: 1 }),
} as const;

test('the mark of a request depends only on the installation, the operation, the names and the values', () => {
  const mark = markOf(claim, 'installation');
  assert.deepEqual(markOf({ ...claim }, 'installation'), mark);
  for (const other of [
    markOf(claim, 'another'),
    markOf({ ...claim, operation: 'refunds.create' }, 'installation'),
    markOf({ ...claim, keyName: 'office' }, 'installation'),
    markOf({ ...claim, key: 'order-8' }, 'installation'),
  ])
    assert.notEqual(other.key, mark.key);
  assert.notEqual(markOf({ ...claim, requestHash: hashRequest({}) }, 'installation').request, mark.request);
});

test('neither the mark nor the processor key reveals the idempotency key', () => {
  const mark = markOf(claim, 'installation');
  const shown = `${processorKey({ ...claim, mark, attempt: 1 })} ${mark.key} ${mark.request}`;
  for (const secret of ['order-7', 'shop', 'installation']) assert.ok(!shown.includes(secret));
  assert.match(shown, /^till-payments\.create-[0-9a-f]{40}-1 [0-9a-f]{40} [0-9a-f]{40}$/);
});
