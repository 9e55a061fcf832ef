import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../test/support/seeds.ts';
import { Collection } from './collection.ts';

interface Thing {
  readonly id: string;
  readonly object: 'thing';
  readonly created: number;
  readonly owner: string | null;
}

const things = fc.array(
  // Times mostly increase, like the world's clock. A test clock can have any time.
  fc.record({ step: fc.integer({ min: -3, max: 3 }), owner: fc.constantFrom('a', 'b', null) }),
  { maxLength: 30 },
);

function build(parts: readonly { step: number; owner: string | null }[]) {
  const collection = new Collection<Thing>({
    name: 'things',
    noun: 'thing',
    idPrefix: 't_',
    indexes: { owner: (thing) => [thing.owner] },
  });
  let created = 0;
  const all = parts.map(({ step, owner }, index) => {
    created = Math.max(0, created + step);
    const thing: Thing = { id: `t${index}`, object: 'thing', created, owner };
    collection.put(thing);
    return thing;
  });
  return { collection, all: all.toSorted((a, b) => a.created - b.created) };
}

test('a list equals the result of filtering, sorting and slicing all objects', async () => {
  await assertProperty(
    fc.property(
      things,
      fc.record({
        owner: fc.option(fc.constantFrom('a', 'b', 'c')),
        gte: fc.option(fc.integer({ min: 0, max: 30 })),
        lt: fc.option(fc.integer({ min: 0, max: 30 })),
        limit: fc.integer({ min: 1, max: 5 }),
        cursor: fc.option(fc.nat(29)),
        backwards: fc.boolean(),
      }),
      (parts, query) => {
        const { collection, all } = build(parts);
        const cursor = query.cursor === null ? undefined : all[query.cursor];
        const matching = all
          .filter(
            (thing) =>
              (query.owner === null || thing.owner === query.owner) &&
              (query.gte === null || thing.created >= query.gte) &&
              (query.lt === null || thing.created < query.lt),
          )
          .reverse();
        const position = (thing: Thing) => all.indexOf(thing);
        const beyond = matching.filter((thing) =>
          cursor === undefined
            ? true
            : query.backwards
              ? position(thing) > position(cursor)
              : position(thing) < position(cursor),
        );
        const backwards = query.backwards && cursor !== undefined;
        const expected = backwards ? beyond.slice(-query.limit) : beyond.slice(0, query.limit);

        const page = collection.list({
          within: { owner: query.owner ?? undefined },
          created: { gte: query.gte ?? undefined, lt: query.lt ?? undefined, gt: undefined, lte: undefined },
          limit: query.limit,
          ...(cursor === undefined
            ? {}
            : backwards
              ? { endingBefore: cursor.id }
              : { startingAfter: cursor.id }),
        });
        assert.deepEqual(page, { data: expected, hasMore: beyond.length > query.limit });
      },
    ),
    500,
  );
});

test('a change moves an object between index keys without changing its place', () => {
  const { collection } = build([
    { step: 1, owner: 'a' },
    { step: 1, owner: 'b' },
    { step: 1, owner: 'a' },
  ]);
  const previous = collection.put({ id: 't1', object: 'thing', created: 2, owner: 'a' });
  assert.equal(previous?.owner, 'b');
  assert.deepEqual(
    collection.allWithin('owner', 'a').map(({ id }) => id),
    ['t0', 't1', 't2'],
  );
  assert.deepEqual(collection.allWithin('owner', 'b'), []);
});

test('a list within two indexes contains only the objects that are in both', () => {
  const collection = new Collection<Thing>({
    name: 'things',
    noun: 'thing',
    idPrefix: 't_',
    indexes: { owner: (thing) => [thing.owner], created: (thing) => [String(thing.created)] },
  });
  for (const [id, owner, created] of [
    ['t0', 'a', 1],
    ['t1', 'b', 1],
    ['t2', 'a', 2],
  ] as const)
    collection.put({ id, object: 'thing', created, owner });
  const idsWithin = (within: Record<string, string | undefined>) =>
    collection.list({ within, limit: 10 }).data.map(({ id }) => id);
  assert.deepEqual(idsWithin({ owner: 'a', created: '1' }), ['t0']);
  assert.deepEqual(idsWithin({ owner: undefined, created: '1' }), ['t1', 't0']);
  assert.deepEqual(idsWithin({ owner: 'b', created: '2' }), []);
});

test('an object created too early is not found', () => {
  const { collection } = build([{ step: 5, owner: null }]);
  assert.equal(collection.get('t0', 5)?.id, 't0');
  assert.equal(collection.get('t0', 6), undefined);
});

test('removing an object removes it everywhere', () => {
  const { collection } = build([
    { step: 1, owner: 'a' },
    { step: 1, owner: 'a' },
    { step: 1, owner: 'a' },
  ]);
  collection.remove('t1');
  assert.equal(collection.get('t1'), undefined);
  assert.deepEqual(
    collection.list({ limit: 10 }).data.map(({ id }) => id),
    ['t2', 't0'],
  );
  collection.removeOldest(3, () => true);
  assert.deepEqual(
    collection.allWithin('owner', 'a').map(({ id }) => id),
    ['t2'],
  );
});
