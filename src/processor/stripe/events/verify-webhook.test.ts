import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { eventFixture } from '../../../../test/fixtures/event-fixture.ts';
import { verifyWebhook } from './verify-webhook.ts';

const now = new Date('2026-01-01T00:02:00.900Z');
const nowSeconds = Math.floor(now.getTime() / 1000);
const secrets = ['whsec_new', 'whsec_old'];
const paid = eventFixture('invoice.paid.newer');

function sign(body: string | Buffer, secret = 'whsec_new', atSeconds: number | string = nowSeconds): string {
  return createHmac('sha256', secret).update(`${atSeconds}.`).update(body).digest('hex');
}

function verify(body: string | Buffer, header: string | undefined) {
  return verifyWebhook(Buffer.from(body), header, secrets, now);
}

function verifySigned(body: string | Buffer) {
  return verify(body, `t=${nowSeconds},v1=${sign(body)}`);
}

describe('a signature', () => {
  for (const secret of secrets) {
    test(`with ${secret} is accepted`, () => {
      const verified = verify(paid, `t=${nowSeconds},v1=${sign(paid, secret)}`);
      assert(verified.outcome === 'event');
      assert.equal(verified.event.id, 'evt_invoice_paid_newer');
      assert.equal(verified.event.payload, JSON.stringify(JSON.parse(paid)));
    });
  }

  test('is accepted if any of several matches', () => {
    const header = `t=${nowSeconds},v0=aa,v1=${'0'.repeat(64)},v1=${sign(paid, 'whsec_old')}`;
    assert.equal(verify(paid, header).outcome, 'event');
  });

  for (const [what, header] of [
    ['missing', undefined],
    ['empty', ''],
    ['without a time', `v1=${sign(paid)}`],
    ['with a time that is not a number', `t=NaN,v1=${sign(paid, 'whsec_new', 'NaN')}`],
    ['with two times', `t=${nowSeconds},t=${nowSeconds},v1=${sign(paid)}`],
    ['without a signature', `t=${nowSeconds}`],
    ['of the older scheme', `t=${nowSeconds},v0=${sign(paid)}`],
    ['that is malformed', 'zzz'],
    ['of another secret', `t=${nowSeconds},v1=${sign(paid, 'whsec_else')}`],
    ['of another time', `t=${nowSeconds - 1},v1=${sign(paid)}`],
    ['of another body', `t=${nowSeconds},v1=${sign(`${paid} `)}`],
    ['cut short', `t=${nowSeconds},v1=${sign(paid).slice(0, 32)}`],
    ['that is empty', `t=${nowSeconds},v1=`],
    ['that is not ASCII', `t=${nowSeconds},v1=${sign(paid).slice(1)}\u00e9`],
  ] as const) {
    test(`${what} is refused`, () => assert.equal(verify(paid, header).outcome, 'bad_signature'));
  }

  for (const [seconds, outcome] of [
    [-301, 'bad_signature'],
    [-300, 'event'],
    [300, 'event'],
    [301, 'bad_signature'],
    [600, 'bad_signature'],
  ] as const) {
    test(`dated ${seconds} s from now is ${outcome}`, () => {
      const atSeconds = nowSeconds + seconds;
      const header = `t=${atSeconds},v1=${sign(paid, 'whsec_new', atSeconds)}`;
      assert.equal(verify(paid, header).outcome, outcome);
    });
  }

  test('covers the bytes, so that text beyond ASCII is accepted and a changed byte is not', () => {
    const body = Buffer.from(paid.replace('in_1', 'in_ü\u2028'));
    assert.equal(verifySigned(body).outcome, 'event');
    const header = `t=${nowSeconds},v1=${sign(body)}`;
    assert.equal(verify(Buffer.from(body.toString('latin1'), 'utf8'), header).outcome, 'bad_signature');
  });
});

describe('a signed body that is not an event', () => {
  for (const [what, body, reason] of [
    ['text', 'hello', /not JSON/],
    ['an empty body', '', /not JSON/],
    ['a list', '[]', /not an object/],
    ['null', 'null', /not an object/],
    ['a thin event', '{"object":"v2.core.event","id":"evt_1"}', /v2\.core\.event/],
    ['an object without an id', '{"object":"event","type":"invoice.paid"}', /event\.id is missing/],
    [
      'an event without an object',
      '{"object":"event","id":"evt_1","type":"x","data":{}}',
      /data\.object is missing/,
    ],
    ['an event without a mode', paid.replaceAll('"livemode"', '"mode"'), /event\.livemode is missing/],
    [
      'an event with an endless id',
      paid.replace('"evt_', `"evt_${'x'.repeat(255)}`),
      /at most 255 characters/,
    ],
    [
      'an event with an endless type',
      paid.replace('"invoice.paid"', `"invoice.${'x'.repeat(255)}"`),
      /type is .* at most 255 characters/,
    ],
    [
      'an object with an endless id',
      paid.replace('"in_1"', `"in_${'x'.repeat(255)}"`),
      /at most 255 characters/,
    ],
    [
      'an event nested too deeply',
      paid.replace('"metadata": {}', `"metadata": ${'['.repeat(99_999)}${']'.repeat(99_999)}`),
      /nested too deeply/,
    ],
  ] as const) {
    test(`${what} is distinguished from a bad signature`, () => {
      const verified = verifySigned(body);
      assert(verified.outcome === 'not_an_event');
      assert.match(verified.reason, reason);
    });
  }
});

test('the secrets of a verified event are redacted before it is stored', () => {
  const verified = verifySigned(eventFixture('payment_intent.requires_action'));
  assert(verified.outcome === 'event');
  assert.doesNotMatch(verified.event.payload, /hush/);
});
