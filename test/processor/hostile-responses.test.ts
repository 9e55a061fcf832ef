import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { Failure } from '#core/errors.ts';
import { assertProperty } from '../support/seeds.ts';
import { startAdapter } from './adapter.ts';
import { respond, startScriptedServer } from './scripted-server.ts';
import { newPayment, paymentIntent } from './wire-objects.ts';

const statuses = fc.oneof(
  fc.constant(200),
  fc.constantFrom(201, 204, 302, 400, 401, 402, 403, 404, 409, 418, 424, 429, 500, 503, 599),
);

const bodies = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.json(),
  fc.jsonValue().map((extra) => JSON.stringify({ ...paymentIntent, extra })),
  fc.jsonValue().map((error) => JSON.stringify({ error })),
  fc
    .record({ type: fc.jsonValue(), code: fc.jsonValue(), message: fc.jsonValue(), param: fc.jsonValue() })
    .map((error) => JSON.stringify({ error })),
  fc
    .tuple(fc.constantFrom(...Object.keys(paymentIntent)), fc.jsonValue())
    .map(([field, value]) => JSON.stringify({ ...paymentIntent, [field]: value })),
);

/** Enough to meet every kind of body with every kind of status; each run is up to three requests. */
const runs = 400;

test('whatever a server responds, a call ends with a result or a failure', async (t) => {
  let next: [number, string] = [200, ''];
  const server = await startScriptedServer(t, (response) => respond(response, ...next));
  const { processor } = startAdapter(t, server.url);
  const ends = { result: 0, failure: 0 };
  await assertProperty(
    fc.asyncProperty(statuses, bodies, async (status, body) => {
      next = [status, body];
      try {
        const { payment } = await processor.payments.create(newPayment);
        assert.equal(payment.processorPaymentIntentId.length > 0, true);
        ends.result += 1;
      } catch (error) {
        assert(error instanceof Failure, inspect(error));
        assert(error.code.startsWith('processor_'), error.code);
        ends.failure += 1;
      }
    }),
    runs,
  );
  // Otherwise only one half of the statement would have been tested.
  assert(ends.result > 0 && ends.failure > 0);
});
