import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredEvent } from '../feed/stored-event.ts';
import { DeliveryQueue, newDelivery } from './delivery-queue.ts';

function delivery(position: number, objectId: string) {
  const rest = { type: 'plan.updated', objectType: 'plan', customerId: null } as const;
  const event: StoredEvent = {
    ...{ position, objectId, createdAtMs: 0, checksum: 0, ...rest },
    ...{ data: '{}', previous: '{}', cause: '{}', traceparent: null },
  };
  return newDelivery(event, new Date());
}

test('each object has one event in flight, and different objects do not wait for each other', () => {
  const queue = new DeliveryQueue();
  const [a1, a2, b1] = [delivery(1, 'a'), delivery(2, 'a'), delivery(3, 'b')];
  for (const one of [a1, a2, b1]) queue.add(one);
  assert.deepEqual([queue.start(0), queue.start(0), queue.start(0)], [a1, b1, undefined]);
  queue.end(b1, true);
  queue.end(a1, true);
  assert.equal(queue.start(0), a2);
});

test('a resend neither waits for its object nor moves the position past the same event in its order', () => {
  const queue = new DeliveryQueue();
  const [a1, a2] = [delivery(5, 'a'), delivery(6, 'a')];
  const resend = { ...delivery(6, 'a'), isResend: true, hasRow: true };
  for (const one of [a1, a2]) queue.add(one);
  queue.addWaiting(resend);
  assert.deepEqual([queue.busyObjects, queue.busyResends], [[], [resend.id]]);
  assert.deepEqual([queue.start(0), queue.start(0), queue.start(0)], [a1, resend, undefined]);
  queue.end(resend, true);
  assert.equal(queue.positionWith([resend], 20), 4);
  queue.recorded([resend], []);
  assert.deepEqual(queue.busyResends, []);
  queue.end(a1, true);
  assert.equal(queue.positionWith([a1], 20), 5, 'the event was resent, but not delivered in its order');
  queue.recorded([a1], []);
  assert.equal(queue.start(0), a2);
});

test('a failed resend does not block the events of its object', () => {
  const queue = new DeliveryQueue();
  const resend = { ...delivery(1, 'a'), isResend: true, hasRow: true };
  queue.addWaiting(resend);
  assert.equal(queue.start(0), resend);
  queue.end(resend, false);
  const a2 = delivery(2, 'a');
  queue.add(a2);
  assert.equal(queue.start(0), a2);
  queue.recorded([resend], []);
  assert.equal(queue.size, 1);
});

test('the position never passes an event that is not recorded', () => {
  const queue = new DeliveryQueue();
  const [a1, b1, c1] = [delivery(5, 'a'), delivery(7, 'b'), delivery(9, 'c')];
  for (const one of [a1, b1, c1]) queue.add(one);
  for (const one of [a1, b1, c1]) assert.equal(queue.start(0), one);
  queue.end(b1, true);
  assert.equal(queue.positionWith([b1], 20), 4);
  queue.recorded([b1], []);
  queue.end(a1, true);
  assert.equal(queue.positionWith([a1], 20), 8);
  queue.recorded([a1], []);
  queue.end(c1, true);
  assert.equal(queue.positionWith([], 20), 8);
  assert.equal(queue.positionWith([c1], 20), 20);
});

test('after a failure the later events of the object wait behind its row, even those that are read later', () => {
  const queue = new DeliveryQueue();
  const [a1, a2] = [delivery(1, 'a'), delivery(2, 'a')];
  for (const one of [a1, a2]) queue.add(one);
  queue.start(0);
  queue.end(a1, false);
  queue.add(delivery(3, 'a'));
  assert.equal(queue.start(0), undefined);
  assert.equal(queue.positionWith([], 3), 0);
  assert.equal(queue.positionWith([a1], 3), 3);
  queue.recorded([a1], []);
  assert.equal(queue.size, 0);
});

test('a failure blocks its object even while an earlier success of the object is being recorded', () => {
  const queue = new DeliveryQueue();
  const [a1, a2, a3] = [delivery(1, 'a'), delivery(2, 'a'), delivery(3, 'a')];
  for (const one of [a1, a2]) queue.add(one);
  queue.start(0);
  queue.end(a1, true);
  queue.start(0);
  queue.end(a2, false);
  queue.recorded([a1], []);
  queue.add(a3);
  assert.equal(queue.start(0), undefined);
  queue.recorded([a2], []);
  assert.equal(queue.positionWith([], 3), 3);
});

test('a slow attempt gets a row, and then no longer holds the position back', () => {
  const queue = new DeliveryQueue();
  const [a1, a2, b1] = [delivery(1, 'a'), delivery(2, 'a'), delivery(3, 'b')];
  for (const one of [a1, a2, b1]) queue.add(one);
  queue.start(0);
  queue.start(900);
  assert.deepEqual(queue.letSlowWait(500), [a1]);
  assert.deepEqual(queue.letSlowWait(500), [], 'once');
  assert.deepEqual(queue.busyObjects, ['a']);
  assert.equal(queue.positionWith([a1], 3), 2);
  queue.recorded([], [a1]);
  queue.end(a1, true);
  assert.equal(queue.start(0), undefined, 'the next one is read from its row');
  queue.recorded([a1], []);
  assert.deepEqual(queue.busyObjects, []);
});

test('at the end the first event of each object gets a row, and nothing more is sent', () => {
  const queue = new DeliveryQueue();
  const [a1, a2, b1] = [delivery(1, 'a'), delivery(2, 'a'), delivery(3, 'b')];
  for (const one of [a1, a2, b1]) queue.add(one);
  queue.start(0);
  queue.putBack(a1);
  assert.deepEqual(queue.letAllWait(), [a1, b1]);
  assert.equal(queue.positionWith([a1, b1], 9), 9);
  assert.equal(queue.start(0), undefined);
});
