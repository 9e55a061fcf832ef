import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { placesIn, withPlace } from '../../../../test/fixtures/damage.ts';
import { eventFixture, eventFixtureNames } from '../../../../test/fixtures/event-fixture.ts';
import { assertProperty } from '../../../../test/support/seeds.ts';
import { type EventContent, UnmappableError } from '../../port/event-facts.ts';
import { readEvent, readEventContent } from './map-event.ts';
import { verifyWebhook } from './verify-webhook.ts';

const damaged = fc.constantFrom(...eventFixtureNames).chain((name) => {
  const event: unknown = JSON.parse(eventFixture(name));
  return fc
    .record({
      place: fc.constantFrom(...placesIn(event)),
      put: fc.oneof(fc.constant(undefined), fc.jsonValue()),
    })
    .map(({ place, put }) => JSON.stringify(withPlace(event, place, put)));
});

function sign(body: string | Uint8Array): string {
  const seconds = Math.floor(Date.now() / 1000);
  return `t=${seconds},v1=${createHmac('sha256', 'whsec_1').update(`${seconds}.`).update(body).digest('hex')}`;
}

/** No date may be invalid and no number unsafe, at any depth: PostgreSQL would reject it later. */
function assertStorable(value: unknown): void {
  if (value instanceof Date) assert(Number.isFinite(value.getTime()) && value.getMilliseconds() === 0);
  else if (typeof value === 'number') assert(Number.isSafeInteger(value));
  else if (typeof value === 'string') assert(value !== '' && !value.includes('\0'));
  else if (typeof value === 'object' && value !== null) Object.values(value).forEach(assertStorable);
  else assert.notEqual(value, undefined);
}

test('an event with any one value damaged is either read correctly or refused with a reason', async () => {
  let mapped = 0;
  let refused = 0;
  await assertProperty(
    fc.property(damaged, (payload) => {
      try {
        assertStorable(readEvent(payload));
        mapped += 1;
      } catch (error) {
        assert(error instanceof UnmappableError, String(error));
        assert.match(error.message, /^[a-z_]+[. ]/);
        refused += 1;
      }
    }),
    3_000,
  );
  // Otherwise the test would cover only one of the two cases.
  assert(mapped > 0 && refused > 0);
});

test('a received event has the content of the stored one, or cannot be read for the same reason', async () => {
  let read = 0;
  await assertProperty(
    fc.property(damaged, (body) => {
      const verified = verifyWebhook(Buffer.from(body), sign(body), ['whsec_1'], new Date());
      if (verified.outcome !== 'event') return;
      const stored = contentOrReason(() => readEventContent(verified.event.payload));
      assert.deepEqual(contentOrReason(verified.read), stored);
      read += 1;
    }),
    1_000,
  );
  assert(read > 0);
});

function contentOrReason(read: () => EventContent): EventContent | string {
  try {
    return read();
  } catch (error) {
    assert(error instanceof UnmappableError);
    return error.message;
  }
}

test('no signed body makes verification throw', async () => {
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map(Buffer.from),
    damaged.map(Buffer.from),
  );
  await assertProperty(
    fc.property(bodies, (body) => {
      const { outcome } = verifyWebhook(body, sign(body), ['whsec_1'], new Date());
      assert(['event', 'not_an_event', 'bad_signature'].includes(outcome));
    }),
    1_000,
  );
});

test('no signature header makes verification throw, and no random one passes', async () => {
  const body = Buffer.from(eventFixture('invoice.paid.newer'));
  const headers = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string().map((text) => `t=${Math.floor(Date.now() / 1000)},v1=${text}`),
  );
  await assertProperty(
    fc.property(headers, (header) => {
      assert.equal(verifyWebhook(body, header, ['whsec_1'], new Date()).outcome, 'bad_signature');
    }),
    1_000,
  );
});
