import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cause, causeOfKind, runWithCause } from '#core/platform/cause.ts';
import { SentWrites } from './http-client.ts';

const cause: Cause = { kind: 'api', keyName: 'shop', person: null, requestId: 'one', processorEventId: null };
const update = { method: 'POST', path: '/v1/customers/cus_1', body: 'name=Ada', idempotencyKey: 'key' };
const event = { idempotencyKey: 'key', objectId: 'cus_1' };

test('the event of a write has the request as its cause, for the objects that the request names', () => {
  const sent = new SentWrites();
  runWithCause(cause, () => sent.note(update));
  assert.equal(sent.causeOf(event, []), cause);
  assert.equal(sent.causeOf({ ...event, objectId: 'in_1' }, []), undefined);
  assert.equal(sent.causeOf({ ...event, objectId: 'in_1' }, ['cus_1']), cause);
  assert.equal(sent.causeOf({ ...event, idempotencyKey: 'other' }, []), undefined);
  const metadata = {
    method: 'POST',
    path: '/v1/refunds',
    body: 'metadata[till_id]=local',
    idempotencyKey: 'b',
  };
  runWithCause(cause, () => sent.note(metadata));
  assert.equal(sent.causeOf({ idempotencyKey: 'b', objectId: 're_1' }, ['local']), cause);
});

test('objects that the request has only read count too', () => {
  const sent = new SentWrites();
  runWithCause(cause, () => {
    sent.note({
      method: 'GET',
      path: '/v1/subscriptions/sub_1?expand=x',
      body: '',
      idempotencyKey: undefined,
    });
    sent.note({ ...update, path: '/v1/subscription_schedules/sub_sched_1' });
  });
  assert.equal(sent.causeOf({ idempotencyKey: 'key', objectId: 'sub_1' }, []), cause);
});

test('a deletion has no idempotency key, and is found by its object, even with a query', () => {
  for (const path of ['/v1/customers/cus_1', '/v1/customers/cus_1?expand[0]=a/b&expand[1]=c']) {
    const sent = new SentWrites();
    runWithCause(cause, () => sent.note({ method: 'DELETE', path, body: '', idempotencyKey: undefined }));
    assert.equal(sent.causeOf({ idempotencyKey: null, objectId: 'cus_1' }, []), cause);
    assert.equal(sent.causeOf({ idempotencyKey: null, objectId: 'cus_2' }, ['cus_1']), undefined);
  }
});

test('background work is not noted, and a request only for as long as it can live', () => {
  let nowMs = 0;
  const sent = new SentWrites(() => nowMs);
  runWithCause(causeOfKind('sweeper'), () => sent.note(update));
  assert.equal(sent.isEmpty, true);
  runWithCause(cause, () => sent.note(update));
  nowMs = 30_000;
  assert.equal(sent.causeOf(event, []), cause);
  nowMs = 30_001;
  assert.equal(sent.causeOf(event, []), undefined);
  assert.equal(sent.isEmpty, true);
});
