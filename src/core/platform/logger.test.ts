import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeError } from './logger.ts';

test('the log of an error contains only its safe fields, not the values attached to it', () => {
  const cause = Object.assign(new Error('duplicate key'), {
    code: '23505',
    detail: 'Key (email)=(eve@example.test)',
  });
  const error = Object.assign(new Error('outer', { cause }), { request: { body: 'eve@example.test' } });
  const text = JSON.stringify(describeError(error));
  assert.ok(!text.includes('eve@example.test'));
  assert.ok(text.includes('duplicate key') && text.includes('23505'));
});

test('an endless chain of causes and a thrown string can be logged', () => {
  const error = new Error('round');
  error.cause = error;
  assert.doesNotThrow(() => JSON.stringify(describeError(error)));
  assert.deepEqual(describeError('oops'), { message: 'oops' });
});
