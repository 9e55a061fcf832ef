import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestIdOf } from './request-id.ts';

test("the caller's request id is kept if it is safe to log", () => {
  for (const id of ['abc-123', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'a'.repeat(128)]) {
    assert.equal(requestIdOf(id), id);
  }
});

test('any other request id is replaced by a new one', () => {
  for (const id of [undefined, '', 'a b', 'a\nb', '"x"', 'ä', 'a'.repeat(129), ['a', 'b']]) {
    assert.match(requestIdOf(id), /^[0-9a-f-]{36}$/);
  }
});
