import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { Failure } from '#core/errors.ts';
import { startAdapter } from './adapter.ts';
import { respond, type Script, startScriptedServer } from './scripted-server.ts';
import { list, newPayment, paymentIntent, wireError } from './wire-objects.ts';

function isFailure(code: string, effect: string) {
  return (error: unknown) =>
    error instanceof Failure && error.code === code && error.extras.effect === effect;
}

describe('an attempt has its time limit', () => {
  const hang: Script = () => {};
  const stall: Script = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
  };
  /** A byte whenever the last one has gone: never silent, never done. */
  const drip: Script = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const next = () => {
      if (!response.destroyed) response.write(' ', () => setImmediate(next));
    };
    next();
  };
  for (const [what, script] of [
    ['never responds', hang],
    ['stops within its response', stall],
    ['drips its response in for ever', drip],
  ] as const) {
    test(`a server that ${what} ends as a time-out of unknown effect, after the last retry`, async (t) => {
      const server = await startScriptedServer(t, script);
      const { processor, outcomes } = startAdapter(t, server.url, { limits: { attemptTimeoutMs: 250 } });
      await assert.rejects(processor.payments.create(newPayment), isFailure('processor_timeout', 'unknown'));
      assert.equal(server.seen.length, 3);
      assert.deepEqual(await outcomes(), { 'payments.create timeout': 1 });
    });
  }

  test('the deadline leaves no time for a retry that could only time out', async (t) => {
    const server = await startScriptedServer(t, hang);
    const { processor } = startAdapter(t, server.url, {
      limits: { deadlineMs: 250, attemptTimeoutMs: 5_000 },
    });
    await assert.rejects(processor.payments.create(newPayment), isFailure('processor_timeout', 'unknown'));
    assert.equal(server.seen.length, 1);
  });

  test('a response of more than 16 MiB is not read to its end', async (t) => {
    const mebibyte = ' '.repeat(1024 * 1024);
    let written = 0;
    const server = await startScriptedServer(t, (response) => {
      response.writeHead(200);
      const next = () => {
        written += 1;
        if (!response.destroyed && written < 200) response.write(mebibyte, next);
      };
      next();
    });
    const { processor } = startAdapter(t, server.url);
    await assert.rejects(processor.payments.create(newPayment), isFailure('processor_bad_answer', 'unknown'));
    assert(written < 200);
  });
});

describe('a retry', () => {
  test('has the same idempotency key and values, and is one call in the metric', async (t) => {
    const server = await startScriptedServer(t, (response, _seen, count) => {
      if (count === 0) response.destroy();
      else if (count === 1) respond(response, 503, wireError({}));
      else respond(response, 200, paymentIntent);
    });
    const { processor, outcomes } = startAdapter(t, server.url);
    const { clientSecret } = await processor.payments.create(newPayment);
    assert.equal(clientSecret, 'pi_1_secret_hush');
    assert.deepEqual(
      server.seen.map(({ headers, form }) => [headers['idempotency-key'], form.toString()]),
      Array(3).fill(['key-1', server.seen[0]?.form.toString()]),
    );
    assert.deepEqual(await outcomes(), { 'payments.create ok': 1 });
  });

  test('after a delete that was carried out without a response finds it gone, which is a success', async (t) => {
    const server = await startScriptedServer(t, (response, _seen, count) => {
      if (count === 0) response.destroy();
      else respond(response, 404, wireError({ code: 'resource_missing', param: 'id' }));
    });
    const { processor, outcomes } = startAdapter(t, server.url);
    await processor.customers.delete('cus_1');
    assert.deepEqual(await outcomes(), { 'customers.delete refused': 1 });
  });
});

describe('calls in flight', () => {
  test('one too many is refused at once, and there is room again when one has ended', async (t) => {
    const held: ServerResponse[] = [];
    const server = await startScriptedServer(t, (response) => {
      held.push(response);
      server.server.emit('held');
    });
    const { processor, outcomes } = startAdapter(t, server.url, { maxInFlight: 2 });
    const calls = [processor.payments.read('pi_1'), processor.payments.read('pi_1')];
    while (held.length < 2) await once(server.server, 'held');

    await assert.rejects(processor.payments.create(newPayment), (error) => {
      assert(isFailure('overloaded', 'none')(error));
      return error instanceof Failure && error.extras.retryAfterSeconds === 1;
    });
    assert.equal(server.seen.length, 2);

    for (const response of held.splice(0)) respond(response, 200, paymentIntent);
    await Promise.all(calls);
    const again = processor.payments.read('pi_1');
    while (held.length < 1) await once(server.server, 'held');
    for (const response of held) respond(response, 200, paymentIntent);
    await again;
    assert.deepEqual(await outcomes(), { 'payments.read ok': 3, 'payments.create overloaded': 1 });
  });

  test('closing ends the calls in progress and every connection', async (t) => {
    const server = await startScriptedServer(t, () => server.server.emit('held'));
    const { processor } = startAdapter(t, server.url, { limits: { retriesMax: 0 } });
    const call = assert.rejects(
      processor.payments.create(newPayment),
      isFailure('processor_unavailable', 'unknown'),
    );
    await once(server.server, 'held');
    processor.close();
    await call;
    server.server.close();
    await once(server.server, 'close');
  });
});

describe('a listing', () => {
  test('goes from page to page by the last id, and what cannot be mapped is left out and logged', async (t) => {
    const strange = { ...paymentIntent, id: 'pi_2', status: 'half_paid' };
    const server = await startScriptedServer(t, (response, _seen, count) =>
      count === 0
        ? respond(response, 200, list([paymentIntent, strange], true))
        : respond(response, 200, list([{ ...paymentIntent, id: 'pi_3' }])),
    );
    const { processor, logged } = startAdapter(t, server.url);
    const ids: string[][] = [];
    for await (const page of processor.payments.list({ processorCustomerId: 'cus_1' })) {
      ids.push(page.items.map((payment) => payment.processorPaymentIntentId));
    }
    assert.deepEqual(ids, [['pi_1'], ['pi_3']]);
    assert.deepEqual(
      server.seen.map(({ query }) => [
        query.get('customer'),
        query.get('limit'),
        query.get('starting_after'),
      ]),
      [
        ['cus_1', '100', null],
        ['cus_1', '100', 'pi_2'],
      ],
    );
    assert.match(logged.join(), /"processorId":"pi_2".*half_paid/);
  });

  test('that never ends is a failure of the look-up, never a "not there"', async (t) => {
    const server = await startScriptedServer(t, (response) =>
      respond(response, 200, list([paymentIntent], true)),
    );
    const { processor } = startAdapter(t, server.url);
    const lookUp = { mark: { key: 'another', request: 'any' }, since: new Date() };
    await assert.rejects(
      processor.payments.find({ ...lookUp, processorCustomerId: 'cus_1' }),
      isFailure('processor_bad_answer', 'none'),
    );
    assert.equal(server.seen.length, 100);
  });

  test('of refunds that does not show all ids of Till fails rather than call one missing', async (t) => {
    const server = await startScriptedServer(t, (response) =>
      respond(response, 200, list([{ id: 're_1', object: 'refund', status: 'odd' }])),
    );
    const { processor } = startAdapter(t, server.url);
    const mark = { key: 'another', request: 'any' };
    const lookUp = { mark, since: new Date(), processorPaymentIntentId: 'pi_1' };
    await assert.rejects(processor.refunds.find(lookUp), isFailure('processor_bad_answer', 'none'));
  });

  for (const body of [{}, { object: 'list' }, list([], true), list([5]), { ...list([]), has_more: 'no' }]) {
    test(`${JSON.stringify(body)} is not a page`, async (t) => {
      const server = await startScriptedServer(t, (response) => respond(response, 200, body));
      const { processor } = startAdapter(t, server.url);
      await assert.rejects(
        processor.refunds.listOfPayment('pi_1'),
        isFailure('processor_bad_answer', 'none'),
      );
    });
  }
});
