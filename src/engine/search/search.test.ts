import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idRange, isLast4, type Match, rank, resultsMax } from './search.ts';

const id = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

function matchOf(values: Partial<Match> = {}): Match {
  return {
    objectType: 'customer',
    objectId: id,
    customerId: id,
    paymentId: null,
    planId: null,
    label: 'Ada',
    personalLabel: null,
    description: null,
    status: null,
    amount: null,
    currency: null,
    createdAt: new Date(0),
    matched: 'id',
    exact: true,
    begins: true,
    ...values,
  };
}

test('a text is an id or the beginning of one, with dashes at the right places or none', () => {
  assert.deepEqual(idRange(id), { from: id, to: id, exact: true });
  assert.deepEqual(idRange(id.toUpperCase().replaceAll('-', '')), { from: id, to: id, exact: true });
  const range = {
    from: '0199c1f0-6000-0000-0000-000000000000',
    to: '0199c1f0-6fff-ffff-ffff-ffffffffffff',
    exact: false,
  };
  assert.deepEqual([idRange('0199c1f0-6'), idRange('0199C1F06')], [range, range]);
  for (const text of [
    '',
    '0199c1f',
    '0199-c1f0',
    '0199c1f06-',
    `${id}0`,
    `${id}-`,
    'ada@example.com',
    '--------',
  ])
    assert.equal(idRange(text), undefined, text);
});

test('ids and numbers come first, then emails, beginnings and parts, the newest first; an object appears once', () => {
  const [older, newer] = [new Date(1), new Date(2)];
  const inOrder = [
    matchOf({ objectId: 'a', matched: 'number', createdAt: newer }),
    matchOf({ objectId: 'b', matched: 'id', createdAt: older }),
    matchOf({ objectId: 'c', matched: 'email', createdAt: older }),
    matchOf({ objectId: 'd', matched: 'amount', createdAt: newer }),
    matchOf({ objectId: 'e', matched: 'email', exact: false, createdAt: older }),
    matchOf({ objectId: 'f', matched: 'name', exact: false, begins: false, createdAt: newer }),
    matchOf({ objectId: 'g', matched: 'email', exact: false, begins: false, createdAt: older }),
  ];
  const repeated = [
    matchOf({ objectId: 'b', matched: 'email', createdAt: older }),
    matchOf({ objectId: 'a', exact: false, begins: false, createdAt: newer }),
  ];
  assert.deepEqual(rank([...repeated, ...inOrder.toReversed()]), inOrder);
});

test('the last digits of a card are four', () => {
  assert.deepEqual(['4242', '424', '42424', '424a', '４２４２'].map(isLast4), [
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('an object of another type can have the same id, and the number of results is limited', () => {
  const pair = [matchOf(), matchOf({ objectType: 'payment' })];
  assert.deepEqual(rank(pair), pair);
  const many = Array.from({ length: resultsMax + 5 }, (_, index) =>
    matchOf({ objectId: `${index}`, exact: false, createdAt: new Date(-index) }),
  );
  assert.deepEqual(
    rank([...many, matchOf({ objectId: 'last' })]).map(({ objectId }) => objectId),
    ['last', ...many.slice(0, resultsMax - 1).map(({ objectId }) => objectId)],
  );
});
