import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { secretToConfirm } from './map-subscription.ts';

const subscription = { id: 'sub_1', object: 'subscription', latest_invoice: 'in_3', pending_update: null };

function invoice(id: string, secret: string | null = `${id}_secret`, status = 'open') {
  return { id, object: 'invoice', status, confirmation_secret: secret && { client_secret: secret } };
}

describe('the secret that is left to confirm', () => {
  test('is that of the newest open invoice', () => {
    assert.equal(secretToConfirm(subscription, [invoice('in_3'), invoice('in_2')]), 'in_3_secret');
    assert.equal(secretToConfirm(subscription, [invoice('in_3', null), invoice('in_2')]), 'in_2_secret');
    assert.equal(secretToConfirm(subscription, [invoice('in_3', 'x', 'paid')]), null);
    assert.equal(secretToConfirm(subscription, []), null);
  });

  test('is that of a pending change only if no other invoice is open', () => {
    const changing = { ...subscription, pending_update: { expires_at: 1 } };
    assert.equal(secretToConfirm(changing, [invoice('in_3'), invoice('in_2')]), 'in_2_secret');
    assert.equal(secretToConfirm(changing, [invoice('in_3')]), 'in_3_secret');
    const expanded = { ...changing, latest_invoice: { id: 'in_3' } };
    assert.equal(secretToConfirm(expanded, [invoice('in_3'), invoice('in_2')]), 'in_2_secret');
  });

  test('is that of the setup of a payment method if no invoice is open and the setup is not done', () => {
    const setUp = (status: string) => ({
      ...subscription,
      pending_setup_intent: { id: 'seti_1', status, client_secret: 'seti_1_secret' },
    });
    assert.equal(secretToConfirm(setUp('requires_payment_method'), []), 'seti_1_secret');
    assert.equal(secretToConfirm(setUp('requires_payment_method'), [invoice('in_3')]), 'in_3_secret');
    assert.equal(secretToConfirm(setUp('succeeded'), []), null);
    for (const odd of [null, undefined, 'seti_1', 7])
      assert.equal(secretToConfirm({ ...subscription, pending_setup_intent: odd }, []), null);
  });
});
