import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Candidate, describeChange, eventText } from './describe-change.ts';
import { objectKind } from './object-kind.ts';

interface Row {
  readonly name: string;
  readonly tags: readonly string[];
  readonly isHidden: boolean;
  readonly isErased: boolean;
  readonly changesAt: Date | null;
}

const kind = objectKind({
  type: 'plan',
  table: 'plans',
  find: async () => [],
  show: ({ name, tags, isHidden, isErased, changesAt }: Row) => ({
    id: 'a',
    customerId: null,
    view: { name, tags },
    isVisible: !isHidden,
    erased: isErased ? ['name'] : [],
    changesAt,
    ids: ['a'],
  }),
  typeOf: (_before, after) => (after.name === 'gone' ? 'plan.archived' : 'plan.updated'),
  afterCreation: ({ name }) =>
    name === 'gone' ? { type: 'plan.archived', previous: { name: 'one' } } : undefined,
});

const row: Row = { name: 'one', tags: ['x'], isHidden: false, isErased: false, changesAt: null };

function describe(current: Partial<Row>, known: Partial<Candidate> & { readonly shows?: Partial<Row> }) {
  const { shows, ...rest } = known;
  const shown = kind.show({ ...row, ...current });
  const newest = shows && kind.show({ ...row, ...shows });
  const candidate: Candidate = {
    kind,
    shown,
    recorded: newest && { id: 'a', data: JSON.stringify(newest.view), changesAt: newest.changesAt },
    ...rest,
  };
  return describeChange(candidate, JSON.stringify(shown.view));
}

test('a difference from the newest event is a new event, with the old values of the changed fields and nothing else', () => {
  assert.deepEqual(describe({ name: 'two' }, { shows: {} }), {
    outcome: 'event',
    type: 'plan.updated',
    previous: { name: 'one' },
  });
  assert.deepEqual(describe({ tags: ['x', 'y'] }, { shows: {} }), {
    outcome: 'event',
    type: 'plan.updated',
    previous: { tags: ['x'] },
  });
  assert.deepEqual(describe({ name: 'gone' }, { shows: {} }), {
    outcome: 'event',
    type: 'plan.archived',
    previous: { name: 'one' },
  });
});

test('without a difference there is no event, but a new time of change is recorded', () => {
  assert.deepEqual(describe({}, { shows: {} }), { outcome: 'none' });
  const recorded = { id: 'a', data: '{"tags":["x"],"name":"one"}', changesAt: null };
  assert.deepEqual(
    describe({}, { recorded }),
    { outcome: 'none' },
    'the order of the fields does not matter',
  );
  assert.deepEqual(describe({ changesAt: new Date(5) }, { shows: {} }), { outcome: 'record' });
});

test('an object without an event is created once the API shows it', () => {
  const created = { outcome: 'event', type: 'plan.created', previous: {} };
  assert.deepEqual(describe({}, {}), created);
  assert.deepEqual(describe({ isHidden: true }, {}), { outcome: 'none' });
});

test('only a creation may have an event that follows it', () => {
  const followedBy = { type: 'plan.archived', previous: { name: 'one' } };
  assert.deepEqual(describe({ name: 'gone' }, {}), {
    ...{ outcome: 'event', type: 'plan.created', previous: {} },
    followedBy,
  });
  assert.ok(!('followedBy' in describe({ name: 'gone' }, { shows: {} })));
});

test('no event has the old value of an erased field', () => {
  const erased = describe({ name: '', tags: [], isErased: true }, { shows: {} });
  assert.deepEqual(erased, { outcome: 'event', type: 'plan.updated', previous: { tags: ['x'] } });
});

test('a field that an older release did not show has no old value', () => {
  const recorded = { id: 'a', data: '{"name":"one"}', changesAt: null };
  assert.deepEqual(describe({}, { recorded }), { outcome: 'event', type: 'plan.updated', previous: {} });
});

test('an event is JSON that contains the object as it is', () => {
  const shown = kind.show({ ...row, changesAt: new Date(0) });
  const candidate = { kind, shown, recorded: undefined };
  const cause = { kind: 'resync', keyName: null, requestId: null, processorEventId: null } as const;
  const event = { outcome: 'event', type: 'plan.created', previous: {} } as const;
  assert.deepEqual(JSON.parse(eventText(candidate, event, JSON.stringify(shown.view), cause)), {
    type: 'plan.created',
    objectType: 'plan',
    objectId: 'a',
    customerId: null,
    data: { name: 'one', tags: ['x'] },
    previous: {},
    cause,
    changesAt: new Date(0).toISOString(),
  });
});
