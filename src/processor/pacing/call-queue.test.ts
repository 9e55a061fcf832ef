import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallQueue, type Priority, type QueuedCall } from './call-queue.ts';

function call(priority: Priority, group = '', endpoint = 'x'): QueuedCall {
  return { priority, group, endpoint };
}

function fill(counts: Readonly<Record<Priority, number>>): CallQueue<QueuedCall> {
  const queue = new CallQueue<QueuedCall>();
  for (const priority of ['background', 'interactive'] as const)
    for (let count = 0; count < counts[priority]; count += 1) queue.push(call(priority));
  return queue;
}

const take = (queue: CallQueue<QueuedCall>, count: number) =>
  Array.from({ length: count }, () => queue.take(() => true)?.priority);

test('requests come before background work, which still has one call in ten', () => {
  const taken = take(fill({ interactive: 100, background: 100 }), 30);
  assert.equal(taken.indexOf('background'), 9);
  assert.equal(taken.filter((priority) => priority === 'background').length, 3);
});

test('background work has everything that requests leave', () => {
  assert.deepEqual(take(fill({ interactive: 1, background: 2 }), 4), [
    'interactive',
    'background',
    'background',
    undefined,
  ]);
});

test('background work that was put back begins first', () => {
  const queue = fill({ interactive: 20, background: 2 });
  take(queue, 9);
  const drafted = queue.take(() => true);
  assert.equal(drafted?.priority, 'background');
  if (drafted !== undefined) queue.putBack(drafted);
  assert.deepEqual(take(queue, 2), ['background', 'interactive']);
});

test('background work whose endpoint is at its limit holds up no request', () => {
  const queue = fill({ interactive: 20, background: 0 });
  queue.push(call('background', '', 'y'));
  const taken = Array.from({ length: 20 }, () => queue.take((endpoint) => endpoint === 'x')?.priority);
  assert.ok(taken.every((priority) => priority === 'interactive'));
  queue.push(call('interactive'));
  assert.equal(queue.take(() => true)?.priority, 'background');
});

test('how many calls are ahead', () => {
  const queue = fill({ interactive: 18, background: 50 });
  assert.equal(queue.countAhead(call('interactive')), 20);
  assert.equal(queue.countAhead(call('interactive', 'another')), 1);
  assert.equal(queue.countAhead(call('background')), 68);
  assert.equal(queue.countAhead(call('background', 'another')), 19);
});
