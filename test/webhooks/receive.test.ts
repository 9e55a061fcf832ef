import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { webhookSecrets } from '../support/backend.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { startTillOnLine } from '../support/till-on-line.ts';
import { eventOf, idOf, signWebhook } from '../support/webhook-events.ts';

const till = await startTill({ in: 'process', for: { after }, requestsPerMinute: 1 });
const bodyBytesMax = 1_048_576;
const now = () => Math.floor(Date.now() / 1_000);

async function stored(event: string) {
  return till.sql<{ state: string; payload: string; object_id: string | null }>(
    'select state, payload, object_id from till.webhook_events where id = $1',
    [idOf(event)],
  );
}

async function accepted(response: Response, duplicate = false): Promise<void> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.deepEqual(JSON.parse(text), { received: true, duplicate });
}

describe('a signed event', () => {
  test('is acknowledged once it is stored, and a repeat is recognised', async () => {
    const event = eventOf('invoice.paid.newer');
    await accepted(await till.send(event));
    assert.deepEqual(await stored(event), [{ state: 'pending', payload: event, object_id: 'in_1' }]);
    const [received, duplicates] = [
      await till.count('webhook_events_received_total', { type: 'invoice.paid' }),
      await till.count('webhook_events_duplicate_total'),
    ];
    await accepted(await till.send(event), true);
    assert.equal((await stored(event)).length, 1);
    assert.equal(await till.count('webhook_events_received_total', { type: 'invoice.paid' }), received);
    assert.equal(await till.count('webhook_events_duplicate_total'), duplicates + 1);
  });

  test('is on disk when it is acknowledged: commits of this session wait for it', async () => {
    assert.deepEqual(await till.sql('show synchronous_commit'), [{ synchronous_commit: 'on' }]);
  });

  test('is accepted under either name of the header, from any secret and among other signatures', async () => {
    for (const secret of webhookSecrets) {
      const event = eventOf('invoice.paid.newer');
      await accepted(await till.send(event, { 'stripe-signature': signWebhook(event, secret) }));
    }
    const renamed = eventOf('invoice.paid.newer');
    const response = await fetch(`${till.url}/webhooks/processor`, {
      method: 'POST',
      headers: { 'processor-signature': signWebhook(renamed) },
      body: renamed,
    });
    await accepted(response);
    const several = eventOf('invoice.paid.newer');
    const [time = '', good = ''] = signWebhook(several).split(',');
    const header = [time, `v1=${'0'.repeat(64)}`, 'v0=old', good].join(',');
    await accepted(await till.send(several, { 'stripe-signature': header }));
  });

  for (const contentType of ['text/plain', 'application/octet-stream', 'application/json; charset=latin1']) {
    test(`is accepted as ${contentType}: the signature is over bytes, not over a type`, async () => {
      const event = eventOf('invoice.paid.newer');
      await accepted(await till.send(event, { 'content-type': contentType }));
    });
  }

  test('is accepted without any type', async () => {
    const event = eventOf('invoice.paid.newer');
    const body = new Blob([event]);
    const headers = { 'stripe-signature': signWebhook(event) };
    await accepted(await fetch(`${till.url}/webhooks/processor`, { method: 'POST', headers, body }));
  });

  test('needs no API key and meets no rate limit', async () => {
    for (let sent = 0; sent < 5; sent += 1) await accepted(await till.send(eventOf('balance.available')));
  });

  test('leaves no secret in what is stored', async () => {
    const event = eventOf('payment_intent.requires_action');
    assert.match(event, /hush/);
    await accepted(await till.send(event));
    const [row] = await stored(event);
    assert.doesNotMatch(row?.payload ?? 'hush', /hush/);
    assert.equal(JSON.parse(row?.payload ?? '').data.object.client_secret, null);
  });

  test('leaves no secret that hides behind a second JSON key of the same name', async () => {
    const event = eventOf('invoice.paid.newer').replace(
      '"currency":"eur"',
      '"currency":"eur","client_secret":"pi_1_secret_hush","client_secret":null',
    );
    await accepted(await till.send(event));
    const [row] = await stored(event);
    assert.doesNotMatch(row?.payload ?? 'hush', /hush/);
  });
});

describe('an invalid signature', () => {
  const event = eventOf('invoice.paid.newer');
  const valid = signWebhook(event);
  const [time = '', signature = ''] = valid.split(',');
  for (const [what, header] of [
    ['with another secret', signWebhook(event, 'whsec_wrong')],
    ['of another body', signWebhook(`${event} `)],
    ['301 seconds old', signWebhook(event, webhookSecrets[0], now() - 301)],
    ['empty', ''],
    ['without a time', signature],
    ['without a signature', time],
    ['with an empty signature', `${time},v1=`],
    ['with two times', `${time},${valid}`],
    ['of an older scheme alone', valid.replace('v1=', 'v0=')],
    ['that is malformed', 'not-a-value'],
    ['outside ASCII', `${time},v1=${'é'.repeat(64)}`],
  ] as const) {
    test(`${what} is refused, and nothing is stored`, async () => {
      const response = await till.send(event, { 'stripe-signature': header });
      await readProblem(response, 400, 'invalid_signature');
      assert.deepEqual(await stored(event), []);
    });
  }

  test('from more than 300 seconds ahead is refused', async () => {
    // A second more, because one may pass on the way.
    const header = signWebhook(event, webhookSecrets[0], now() + 302);
    await readProblem(await till.send(event, { 'stripe-signature': header }), 400, 'invalid_signature');
  });

  test('is refused when there is no header at all, even around a body that could not be read', async () => {
    for (const body of [event, 'not-a-value', '']) {
      const response = await fetch(`${till.url}/webhooks/processor`, { method: 'POST', body });
      await readProblem(response, 400, 'invalid_signature');
    }
    const response = await fetch(`${till.url}/webhooks/processor`, { method: 'POST' });
    await readProblem(response, 400, 'invalid_signature');
  });

  test('holds for 299 seconds either way', async () => {
    for (const skew of [-299, 299]) {
      const skewed = eventOf('invoice.paid.newer');
      const header = signWebhook(skewed, webhookSecrets[0], now() + skew);
      await accepted(await till.send(skewed, { 'stripe-signature': header }));
    }
  });
});

describe('signed, but not an event', () => {
  const whole = eventOf('invoice.paid.newer');
  for (const [what, body] of [
    ['text', 'not-a-value'],
    ['nothing', ''],
    ['a list', '[]'],
    ['null', 'null'],
    [
      'a thin event',
      '{"id":"evt_1","object":"v2.core.event","type":"v1.billing.meter.error_report_triggered"}',
    ],
    ['a truncated event', whole.slice(0, -10)],
    ['an event without an id', whole.replace('"id":"evt_', '"od":"evt_')],
    ['an event of no time', whole.replace(/"created":\d+/, '"created":"now"')],
    ['an event at the end of time', whole.replace(/"created":\d+/, '"created":1e300')],
    ['an event past what a number holds', whole.replace(/"created":\d+/, `"created":${'9'.repeat(400)}`)],
    ['an event before all time', whole.replace(/"created":\d+/, '"created":-1')],
    ['an event with NUL in its id', whole.replace('"id":"evt_', '"id":"evt_\\u0000')],
    ['an event with NUL in its type', whole.replace('invoice.paid', 'invoice.paid\\u0000')],
    [
      'an event nested too deeply',
      whole.replace('"metadata":{}', `"metadata":${'['.repeat(50_000)}${']'.repeat(50_000)}`),
    ],
    [
      'an event whose id is malformed',
      whole.replace('"id":"evt_', `"id":"evt_${randomBytes(8_000).toString('hex')}`),
    ],
    [
      'an event whose object has no id but a book',
      whole.replace('"id":"in_1"', `"id":"${randomBytes(8_000).toString('hex')}"`),
    ],
  ] as const) {
    test(`${what} is refused with a reason`, async () => {
      await readProblem(await till.send(body), 400, 'malformed_request');
    });
  }
});

describe('signed, odd, but an event', () => {
  for (const [what, odd] of [
    [
      'a JSON key that comes twice',
      (event: string) => event.replace('"amount_due":', '"amount_due":1,"amount_due":'),
    ],
    [
      'an escaped NUL in an unused field',
      (event: string) => event.replace('"metadata":{}', '"metadata":{"a":"\\u0000"}'),
    ],
    ['half a character', (event: string) => event.replace('"metadata":{}', '"metadata":{"a":"\\ud800"}')],
    ['a number past all bounds', (event: string) => event.replace('"metadata":{}', '"metadata":{"a":1e999}')],
    ['a prototype', (event: string) => event.replace('"metadata":{}', '"metadata":{"__proto__":{"id":"x"}}')],
  ] as const) {
    test(`${what} is stored and applied`, async () => {
      const event = odd(eventOf('invoice.paid.newer'));
      await accepted(await till.send(event));
      await till.drain();
      const [row] = await stored(event);
      assert.equal(row?.state, 'processed');
    });
  }

  test('bytes that are not UTF-8 are refused: the processor sends none, so no signature of its covers them', async () => {
    const event = eventOf('invoice.paid.newer', { description: 'caf@' });
    const bytes = Buffer.from(event);
    bytes[bytes.indexOf('@')] = 0xe9;
    await readProblem(await till.send(bytes), 400, 'invalid_signature');
    assert.deepEqual(await stored(event), []);
  });

  test('a body of exactly 1 MiB is stored whole, one byte more is refused', async () => {
    const [start = '', end = ''] = eventOf('invoice.paid.newer', { padding: '@' }).split('@');
    const fill = (bytes: number) => `${start}${'x'.repeat(bytes - start.length - end.length)}${end}`;
    const largest = fill(bodyBytesMax);
    await accepted(await till.send(largest));
    assert.equal((await stored(largest))[0]?.payload.length, bodyBytesMax);
    await readProblem(await till.send(fill(bodyBytesMax + 1)), 413, 'payload_too_large');
  });

  test('a body without a declared length has the same limit, and gets the same response', async () => {
    const sendInParts = (event: string) =>
      fetch(`${till.url}/webhooks/processor`, {
        method: 'POST',
        headers: { 'stripe-signature': signWebhook(event) },
        body: ReadableStream.from([Buffer.from(event.slice(0, 100)), Buffer.from(event.slice(100))]),
        duplex: 'half',
      });
    const event = eventOf('invoice.paid.newer');
    const response = await sendInParts(event);
    await accepted(response);
    const again = await till.send(event);
    await accepted(again, true);
    const names = (headers: Headers) => [...headers.keys()].toSorted();
    assert.deepEqual(names(again.headers), names(response.headers));
    const padding = 'x'.repeat(bodyBytesMax);
    await readProblem(
      await sendInParts(eventOf('invoice.paid.newer', { padding })),
      413,
      'payload_too_large',
    );
  });

  test('a body with a content-encoding is refused, with or without a declared length', async () => {
    const event = eventOf('invoice.paid.newer');
    const zipped = gzipSync(event);
    for (const body of [event, zipped, ReadableStream.from([zipped])]) {
      const response = await fetch(`${till.url}/webhooks/processor`, {
        method: 'POST',
        headers: { 'stripe-signature': signWebhook(event), 'content-encoding': 'gzip' },
        body,
        duplex: 'half',
      });
      await readProblem(response, 415, 'unsupported_media_type');
    }
    assert.deepEqual(await stored(event), []);
    await accepted(await till.send(event, { 'content-encoding': 'Identity' }));
  });

  test('a request that is left to the framework gets the same responses, and is counted the same way', async () => {
    const event = eventOf('invoice.paid.newer');
    const signature = signWebhook(event);
    const cases = [
      { headers: { 'stripe-signature': signature, 'x-request-id': 'given' }, body: event, status: 200 },
      { headers: { 'stripe-signature': signature }, body: `${event} `, status: 400 },
      { headers: {}, body: event, status: 400 },
      { headers: { 'stripe-signature': signWebhook('[]') }, body: '[]', status: 400 },
    ];
    const route = '/webhooks/processor';
    const count = () => till.count('http_request_duration_seconds', { method: 'POST', route });
    for (const { headers, body, status } of cases) {
      const before = await count();
      const send = async (url: string) => {
        const response = await fetch(url, { method: 'POST', headers, body });
        const received = Object.fromEntries(response.headers);
        const { 'x-request-id': id, date: _date, 'content-length': _length, ...rest } = received;
        const { requestId, duplicate, ...content } = Object(await response.json());
        if (status !== 200) assert.equal(requestId, id);
        return { status: response.status, rest, content, id: id === 'given' };
      };
      const served = await send(`${till.url}${route}`);
      assert.equal(served.status, status);
      // A query is not part of the path that is served directly.
      assert.deepEqual(await send(`${till.url}${route}?`), served);
      assert.equal(await count(), before + 2);
    }
  });

  test('an event of a time without a partition is stored, once', async () => {
    for (const created of [0, 4_102_444_800]) {
      const event = eventOf('balance.available', {}, { created });
      await accepted(await till.send(event));
      await accepted(await till.send(event), true);
      assert.equal((await stored(event)).length, 1);
    }
  });
});

describe('what does not concern Till', () => {
  for (const [what, event, type] of [
    [
      'a type that is not followed',
      eventOf('invoice.paid.newer', {}, { type: 'radar.early_fraud_warning.created' }),
      'other',
    ],
    ['a balance, which has no id', eventOf('balance.available'), 'other'],
    ['an invoice to come, which has no id', eventOf('invoice.upcoming'), 'other'],
    [
      'an object without an id under a type that we follow',
      eventOf('invoice.paid.newer', { id: undefined }),
      'invoice.paid',
    ],
  ] as const) {
    test(`${what} is stored, acknowledged and counted as ignored, once`, async () => {
      const before = await till.count('webhook_events_ignored_total', { type });
      await accepted(await till.send(event));
      await accepted(await till.send(event), true);
      await till.drain();
      assert.equal((await stored(event))[0]?.state, 'ignored');
      assert.equal(await till.count('webhook_events_ignored_total', { type }), before + 1);
    });
  }

  test('an event of the other mode is acknowledged, ignored, and warned about once', async () => {
    const before = await till.count('webhook_events_ignored_total', { type: 'invoice.paid' });
    for (let sent = 0; sent < 3; sent += 1) {
      const event = eventOf('invoice.paid.newer', {}, { livemode: true });
      await accepted(await till.send(event));
      assert.deepEqual(await stored(event), []);
    }
    assert.equal(await till.count('webhook_events_ignored_total', { type: 'invoice.paid' }), before + 3);
    const warnings = till.lines.filter(({ msg }) => msg === 'event of the other mode ignored');
    assert.deepEqual(
      warnings.map(({ level, eventMode, keyMode }) => [level, eventMode, keyMode]),
      [['warn', 'live', 'test']],
    );
  });
});

test('an event of an unknown version is applied, and each such version warned about once', async () => {
  const versions = ['2031-01-01.oak', '2031-01-01.oak', '2032-02-02.ash'];
  const events = versions.map((api_version) => eventOf('invoice.paid.newer', {}, { api_version }));
  await till.take(...events);
  for (const event of events) assert.equal((await stored(event))[0]?.state, 'processed');
  const warnings = till.lines.filter(({ msg }) => msg === 'event with an unknown API version processed');
  assert.deepEqual(
    warnings.map(({ apiVersion }) => apiVersion),
    ['2031-01-01.oak', '2032-02-02.ash'],
  );
});

test('while the database is down nothing is acknowledged, and once it is back the same event is stored', async (t) => {
  const { till: cutOff, line } = await startTillOnLine(t);
  const event = eventOf('invoice.paid.newer');
  await accepted(await cutOff.send(eventOf('invoice.paid.newer')));
  line.cut();
  const responses = await Promise.all(
    [event, event, eventOf('invoice.paid.newer')].map((body) => cutOff.send(body)),
  );
  for (const response of responses) {
    assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    await readProblem(response, 503, 'database_unavailable');
  }
  line.repair();
  await accepted(await cutOff.send(event));
  await accepted(await cutOff.send(event), true);
});
