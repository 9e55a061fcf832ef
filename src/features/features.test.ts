import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTypes } from './features.ts';

test('every object has a type for its creation and one for a change that no other type describes', () => {
  // Usage is no object: an event says that a limit is reached.
  const changes = eventTypes.filter(({ shownBy }) => shownBy !== undefined);
  assert.ok(changes.length > 0);
  for (const { objectType, meanings } of changes)
    for (const what of ['created', 'updated']) assert.ok(`${objectType}.${what}` in meanings, objectType);
});
