import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterRequests } from './filter-requests.ts';

const parameter = (name: string, values?: readonly string[]) => ({
  name,
  in: 'query',
  schema: values === undefined ? {} : { enum: values },
});
const document = {
  paths: {
    '/api/v1/payments': {
      get: {
        parameters: [
          parameter('status', ['open', 'paid']),
          parameter('amountMin'),
          parameter('email'),
          parameter('limit'),
        ],
      },
    },
  },
};

test('every filter of the document is tried alone and with every other one', () => {
  assert.deepEqual(filterRequests(document, ['/payments'], { amountMin: ['5'], email: ['a@b.c'] }), [
    '/payments?status=open',
    '/payments?status=paid',
    '/payments?amountMin=5&currency=eur',
    '/payments?email=a%40b.c',
    '/payments?status=open&amountMin=5&currency=eur',
    '/payments?status=open&email=a%40b.c',
    '/payments?status=paid&amountMin=5&currency=eur',
    '/payments?status=paid&email=a%40b.c',
    '/payments?amountMin=5&email=a%40b.c&currency=eur',
  ]);
});

test('a filter without values, and a list that does not exist, are mistakes', () => {
  assert.throws(() => filterRequests(document, ['/payments'], { amountMin: ['5'] }), /email of \/payments/);
  assert.throws(() => filterRequests(document, ['/plans'], {}), /no list \/plans/);
});
