import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NewestPosition } from './newest-position.ts';

const read = { method: 'GET', path: '/api/v1/payments' };
const write = { method: 'POST', path: '/api/v1/payments' };
const at = (place: number, history = 'aa') => `${history}-${String(place).padStart(16, '0')}`;
const respond = (position?: string, status = 200) => ({
  status,
  headers: new Headers(position === undefined ? {} : { 'x-till-position': position }),
});
const sent = (newest: NewestPosition, call = read) => newest.begin(call).headers['x-till-position'];
const receive = (newest: NewestPosition, call: typeof read, response?: ReturnType<typeof respond>) =>
  newest.begin(call).end(response);

test('reads of the API send the newest position, and nothing else does', () => {
  const newest = new NewestPosition();
  assert.equal(sent(newest), undefined);
  receive(newest, write, respond(at(2), 201));
  receive(newest, read, respond(at(1)));
  assert.equal(sent(newest), at(2), 'the response that came later is older');
  receive(newest, read, respond(at(3)));
  assert.equal(sent(newest), at(3));
  assert.equal(sent(newest, write), undefined);
  assert.equal(sent(newest, { method: 'GET', path: '/health' }), undefined);
});

test('a position of another history replaces the known one, even if it looks older', () => {
  const newest = new NewestPosition();
  receive(newest, write, respond(at(9), 201));
  receive(newest, read, respond(at(1, 'bb')));
  assert.equal(sent(newest), at(1, 'bb'));
});

test('a write without a position, or without a response, makes the next read use the primary', () => {
  for (const response of [undefined, respond(undefined, 201), respond(undefined, 503)]) {
    const newest = new NewestPosition();
    receive(newest, read, respond(at(1)));
    receive(newest, write, response);
    assert.equal(sent(newest), undefined);
  }
});

test('a read that failed, and a response outside of the API, change nothing', () => {
  const newest = new NewestPosition();
  receive(newest, read, respond(at(1)));
  receive(newest, read, undefined);
  receive(newest, read, respond(undefined, 404));
  receive(newest, { method: 'GET', path: '/health' }, respond());
  assert.equal(sent(newest), at(1));
  receive(newest, read, respond());
  assert.equal(sent(newest), undefined, 'Till no longer has a replica');
});

test('a response to a request from before the position was forgotten does not set it again', () => {
  for (const early of [read, write]) {
    const newest = new NewestPosition();
    const request = newest.begin(early);
    receive(newest, write, respond(undefined, 201));
    request.end(respond(at(1)));
    assert.equal(sent(newest), undefined, 'the position may be earlier than the write');
    receive(newest, read, respond(at(3)));
    assert.equal(sent(newest), at(3));
  }
});
