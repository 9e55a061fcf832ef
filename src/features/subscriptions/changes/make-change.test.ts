import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '#core/platform/id.ts';
import { hasChangeMark, withChangeMark } from './make-change.ts';

const hourMs = 3_600_000;
const digest = (letter: string) => letter.repeat(40);

function request(key: string, { values = 'f', atMs = Date.UTC(2026, 0, 2) } = {}) {
  return { id: newId(new Date(atMs)), mark: { key: digest(key), request: digest(values) } };
}

test('a change is recognised by its marks, even after other changes', () => {
  const marks = ['b', 'c', 'd'].reduce<readonly string[]>(
    (earlier, key) => withChangeMark(earlier, request(key)),
    withChangeMark([], request('a')),
  );
  assert.equal(hasChangeMark(marks, request('a')), true);
  assert.equal(hasChangeMark(marks, request('e')), false);
});

test('another request with the same idempotency key is refused', () => {
  const marks = withChangeMark([], request('a'));
  assert.throws(() => hasChangeMark(marks, request('a', { values: 'e' })), {
    code: 'idempotency_key_reused',
  });
});

test('an idempotency key that is used again after a day counts as a new one', () => {
  const atMs = Date.UTC(2026, 0, 2);
  const marks = withChangeMark([], request('a', { atMs }));
  assert.equal(hasChangeMark(marks, request('a', { atMs: atMs + 24 * hourMs })), true);
  assert.equal(hasChangeMark(marks, request('a', { atMs: atMs + 25 * hourMs, values: 'e' })), false);
});

test('the marks fit a metadata value, and other texts are ignored', () => {
  let marks: readonly string[] = ['edited by hand', ''];
  for (let changes = 0; changes < 100; changes += 1) marks = withChangeMark(marks, request('a'));
  assert.ok(marks.join(' ').length <= 500);
  assert.equal(hasChangeMark(['', '..', 'x'], request('a')), false);
});
