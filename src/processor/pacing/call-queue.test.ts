import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { CallQueue, FairQueue, type Priority, type QueuedCall } from './call-queue.ts';

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

interface Item {
  readonly group: string;
  readonly endpoint: string;
  readonly number: number;
}

const always = () => true;

function queueOf(items: readonly Item[]): FairQueue<Item> {
  const queue = new FairQueue<Item>();
  for (const item of items) queue.push(item);
  return queue;
}

function drain(queue: FairQueue<Item>, mayBegin: (endpoint: string) => boolean = always): readonly Item[] {
  const taken: Item[] = [];
  for (let item = queue.take(mayBegin); item !== undefined; item = queue.take(mayBegin)) taken.push(item);
  return taken;
}

const arbitraryItems = fc
  .array(fc.record({ group: fc.constantFrom('a', 'b', 'c'), endpoint: fc.constantFrom('x', 'y') }), {
    maxLength: 60,
  })
  .map((items) => items.map((item, number) => ({ ...item, number })));

test('a group with few items is not behind a group with many', () => {
  const many = Array.from({ length: 100 }, (_, number) => ({ group: 'a', endpoint: 'x', number }));
  const queue = queueOf([...many, { group: 'b', endpoint: 'x', number: 100 }]);
  assert.equal(queue.countAhead('b'), 3);
  assert.equal(queue.countAhead('c'), 2);
  assert.equal(queue.countAhead('a'), 101);
  assert.deepEqual(
    drain(queue)
      .slice(0, 3)
      .map(({ group }) => group),
    ['a', 'b', 'a'],
  );
});

test('groups that wait get the same number of turns, and each keeps its order', async () => {
  await assertProperty(
    fc.property(arbitraryItems, (items) => {
      const taken = drain(queueOf(items));
      assert.equal(taken.length, items.length);
      const left = new Map<string, number>();
      for (const { group } of items) left.set(group, (left.get(group) ?? 0) + 1);
      const turns = new Map<string, number>();
      for (const { group } of taken) {
        turns.set(group, (turns.get(group) ?? 0) + 1);
        left.set(group, (left.get(group) ?? 0) - 1);
        const ofWaiting = [...left].filter(([, count]) => count > 0).map(([name]) => turns.get(name) ?? 0);
        const most = Math.max(...turns.values());
        for (const count of ofWaiting) assert.ok(most - count <= 1, `${most} turns and ${count}`);
      }
      for (const group of ['a', 'b', 'c']) {
        const numbers = taken.filter((item) => item.group === group).map(({ number }) => number);
        assert.deepEqual(
          numbers,
          numbers.toSorted((a, b) => a - b),
        );
      }
    }),
  );
});

test('an endpoint at its limit does not hold up others, and items that are put back keep their order', async () => {
  await assertProperty(
    fc.property(arbitraryItems, fc.nat({ max: 10 }), (items, count) => {
      const queue = queueOf(items);
      assert.ok(drain(queue, (endpoint) => endpoint === 'y').every(({ endpoint }) => endpoint === 'y'));
      const before = queueOf(items);
      drain(before, (endpoint) => endpoint === 'y');
      const draft = Array.from({ length: count }, () => queue.take(always)).filter(
        (item) => item !== undefined,
      );
      for (const item of draft.toReversed()) queue.putBack(item);
      assert.equal(queue.size, items.filter(({ endpoint }) => endpoint === 'x').length);
      assert.deepEqual(drain(queue).slice(0, count), drain(before).slice(0, count));
    }),
  );
});

test('an item that is removed is not served', () => {
  const items = ['a', 'b', 'a'].map((group, number) => ({ group, endpoint: 'x', number }));
  const queue = queueOf(items);
  const [first, second] = items;
  if (first !== undefined) queue.remove(first);
  if (first !== undefined) queue.remove(first);
  if (second !== undefined) queue.remove(second);
  assert.equal(queue.size, 1);
  assert.deepEqual(
    drain(queue).map(({ number }) => number),
    [2],
  );
});
