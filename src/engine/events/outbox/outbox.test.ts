import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectKind } from './object-kind.ts';
import { describeChange, eventText } from './outbox.ts';

interface Row {
  readonly name: string;
  readonly tags: readonly string[];
  readonly isHidden: boolean;
  readonly isErased: boolean;
}

const kind = objectKind({
  events: { objectType: 'plan', meanings: { 'plan.updated': '', 'plan.archived': '' } },
  table: 'plans',
  show: ({ name, tags, isHidden, isErased }: Row) => ({
    id: 'a',
    customerId: null,
    view: { name, tags },
    isVisible: !isHidden,
    erased: isErased ? ['name'] : [],
    ids: ['a'],
  }),
  typeOf: (_before, after) => (after.name === 'gone' ? 'plan.archived' : 'plan.updated'),
  afterCreation: ({ name }) =>
    name === 'gone' ? { type: 'plan.archived', previous: { name: 'one' } } : undefined,
});

const row: Row = { name: 'one', tags: ['x'], isHidden: false, isErased: false };

function describe(before: Partial<Row> | undefined, after: Partial<Row>) {
  return describeChange(kind, before && kind.show({ ...row, ...before }), kind.show({ ...row, ...after }));
}

test('a change is an event, with the old values of the changed fields and nothing else', () => {
  assert.deepEqual(describe({}, { name: 'two' }), [{ type: 'plan.updated', previous: { name: 'one' } }]);
  assert.deepEqual(describe({}, { tags: ['x', 'y'] }), [{ type: 'plan.updated', previous: { tags: ['x'] } }]);
  assert.deepEqual(describe({}, { name: 'gone' }), [{ type: 'plan.archived', previous: { name: 'one' } }]);
});

test('without a visible change there is no event', () => {
  assert.deepEqual(describe({}, { tags: ['x'] }), []);
  assert.deepEqual(describe({ isHidden: true }, { isHidden: true, name: 'two' }), []);
});

test('an object is created once the API shows it', () => {
  const created = [{ type: 'plan.created', previous: {} }];
  assert.deepEqual(describe(undefined, {}), created);
  assert.deepEqual(describe({ isHidden: true }, {}), created);
  assert.deepEqual(describe(undefined, { isHidden: true }), []);
});

test('an object that the API no longer shows has a last event', () => {
  assert.deepEqual(describe({}, { isHidden: true, name: '' }), [
    { type: 'plan.updated', previous: { name: 'one' } },
  ]);
});

test('only a creation may have an event that follows it', () => {
  assert.deepEqual(describe(undefined, { name: 'gone' }), [
    { type: 'plan.created', previous: {} },
    { type: 'plan.archived', previous: { name: 'one' } },
  ]);
  assert.equal(describe({}, { name: 'gone' }).length, 1);
});

test('no event has the old value of an erased field', () => {
  assert.deepEqual(describe({}, { name: '', tags: [], isErased: true }), [
    { type: 'plan.updated', previous: { tags: ['x'] } },
  ]);
});

test('an event contains the JSON of the object as it is, and its trace beside the cause', () => {
  const shown = kind.show(row);
  const cause = {
    kind: 'resync',
    keyName: null,
    person: null,
    requestId: null,
    processorEventId: null,
  } as const;
  const event = { type: 'plan.created', previous: {} } as const;
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const source = { cause: { ...cause, traceparent }, traceparent };
  const data = JSON.stringify(shown.view);
  const object = { objectType: kind.type, objectId: shown.id, customerId: shown.customerId };
  assert.deepEqual(eventText({ ...event, ...object, ...source }, data), {
    type: 'plan.created',
    objectType: 'plan',
    objectId: 'a',
    customerId: null,
    data: '{"name":"one","tags":["x"]}',
    previous: '{}',
    cause: JSON.stringify(cause),
    traceparent,
  });
});
