import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Latencies } from './latencies.ts';

const create = (resource: string) => ({ name: `${resource}.create`, method: 'POST' as const });

/** The durations of the first thousand requests, from short to long. */
function sorted(operation: { readonly name: string; readonly method: 'GET' | 'POST' }): number[] {
  const latencies = new Latencies(7);
  return Array.from({ length: 1_000 }, () => latencies.next(operation))
    .map(({ beforeMs, afterMs }) => beforeMs + afterMs)
    .sort((one, other) => one - other);
}

function within(actual: number | undefined, wanted: number): void {
  assert.ok(
    actual !== undefined && Math.abs(actual - wanted) < wanted / 10,
    `${actual} instead of ${wanted}`,
  );
}

test('payments and subscriptions take as long as recorded, and reads are faster', () => {
  const payments = sorted(create('payment_intents'));
  within(payments[500], 850);
  within(payments[990], 2_500);
  const subscriptions = sorted(create('subscriptions'));
  within(subscriptions[500], 2_700);
  assert.ok((subscriptions.at(-1) ?? 0) <= 3_900);
  const reads = sorted({ name: 'subscriptions.retrieve', method: 'GET' });
  within(reads[500], 150);
  assert.ok((reads.at(-1) ?? 0) <= 1_200);
});

test('a seed gives each operation the same latencies, whatever runs beside it', () => {
  const alone = new Latencies(1);
  const beside = new Latencies(1);
  const expected = Array.from({ length: 20 }, () => alone.next(create('customers')));
  const found = Array.from({ length: 20 }, () => {
    beside.next(create('subscriptions'));
    return beside.next(create('customers'));
  });
  assert.deepEqual(found, expected);
  assert.notDeepEqual(new Latencies(2).next(create('customers')), expected[0]);
});
