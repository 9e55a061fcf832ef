import assert from 'node:assert/strict';
import { test } from 'node:test';
import { captureLog } from '../../../test/support/log-capture.ts';
import { UnsentResponses } from './application-memory.ts';

type Request = Parameters<UnsentResponses['hold']>[0];

function unsent(bytesMaxOfAll?: number) {
  const { logger } = captureLog();
  const responses = new UnsentResponses(logger, 100, bytesMaxOfAll);
  const cut: string[] = [];
  const hold = (name: string, bytes: number, application = 'shop') => {
    const caller = { name: application, application, person: null };
    // Only what it reads of a request.
    const request = { id: name, caller } as unknown as Request;
    return responses.hold(request, { bytes, cut: () => cut.push(name) });
  };
  return { hold, cut };
}

test('when an application leaves too much unread, what has waited longest is cut off', () => {
  const { hold, cut } = unsent();
  hold('first', 40);
  const release = hold('second', 40);
  hold('third', 20);
  assert.deepEqual(cut, []);
  release();
  hold('fourth', 30);
  assert.deepEqual(cut, []);
  hold('fifth', 60);
  assert.deepEqual(cut, ['first', 'third']);
  hold('sixth', 90);
  assert.deepEqual(cut, ['first', 'third', 'fourth', 'fifth']);
});

test('a single response is sent however large it is, and another application is left alone', () => {
  const { hold, cut } = unsent();
  hold('other', 90, 'office');
  hold('small', 50);
  const release = hold('large', 500);
  assert.deepEqual(cut, ['small']);
  release();
  release();
  hold('next', 100);
  assert.deepEqual(cut, ['small']);
});

test('when all applications leave too much unread, the one that leaves most loses what has waited longest', () => {
  const { hold, cut } = unsent(200);
  hold('small', 20, 'office');
  for (const name of ['first', 'second', 'third']) hold(name, 30);
  const release = hold('large', 80, 'store');
  assert.deepEqual(cut, []);
  hold('more', 20, 'office');
  assert.deepEqual(cut, ['first'], 'the largest has a single one');
  release();
  hold('other', 100, 'depot');
  assert.deepEqual(cut, ['first']);
  for (const name of ['a', 'b', 'c']) hold(name, 100, name);
  assert.deepEqual(cut, ['first', 'second', 'small'], 'single ones are sent');
});
