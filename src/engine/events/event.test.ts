import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTypes } from './event.ts';

test('every object has a type for its creation and one for a change that no other type describes', () => {
  // Usage is no object: an event says that a limit is reached.
  const changes = eventTypes.filter((type) => type !== 'usage.limit_reached');
  const objects = new Set(changes.map((type) => type.slice(0, type.indexOf('.'))));
  for (const object of objects)
    for (const what of ['created', 'updated'])
      assert.ok(eventTypes.some((type) => type === `${object}.${what}`));
});
