import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cardExpiry } from './card.ts';

test('a card is valid until the end of its month', () => {
  const at = (time: string) => cardExpiry({ expMonth: 2, expYear: 2027 }, new Date(time));
  assert.deepEqual(at('2027-02-28T23:59:59Z'), { text: '02/2027', isOver: false });
  assert.deepEqual(at('2027-03-01T00:00:00Z'), { text: '02/2027', isOver: true });
  assert.deepEqual(cardExpiry({ expMonth: null, expYear: null }, new Date(0)), null);
});
