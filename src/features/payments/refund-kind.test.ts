import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RefundView } from './refund-fields.ts';
import { refundEventType } from './refund-kind.ts';

test('a refund fails', () => {
  const refund = { status: 'pending' } as RefundView;
  assert.equal(refundEventType(refund, { ...refund, status: 'failed' }), 'refund.failed');
  assert.equal(refundEventType(refund, { ...refund, status: 'succeeded' }), 'refund.updated');
});
