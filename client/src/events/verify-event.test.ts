import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { TillVerificationError, type VerifyOptions, verifyEvent } from './verify-event.ts';

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes ...').toString('base64')}`;
const otherSecret = `whsec_${Buffer.from('another secret of 32 bytes .....').toString('base64')}`;
const body = JSON.stringify({ id: 'evt_1', type: 'payment.succeeded', data: { note: 'Zoë €' } });
const now = new Date('2026-11-15T09:30:00Z');

/** Headers as the reference implementation creates them. */
function sign(text: string, { at = now, by = [secret] }: { at?: Date; by?: readonly string[] } = {}) {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': by.map((key) => new Webhook(key).sign('evt_1', at, text)).join(' '),
  };
}

async function reasonOf(options: Partial<VerifyOptions>): Promise<string> {
  try {
    await verifyEvent({ body, headers: sign(body), secret, now, ...options });
  } catch (error) {
    if (error instanceof TillVerificationError) return error.reason;
    throw error;
  }
  return 'verified';
}

test('verifies what the reference implementation of Standard Webhooks signs, in every form of body and headers', async () => {
  const headers = sign(body);
  const bytes = new TextEncoder().encode(body);
  const event = await verifyEvent({ body, headers, secret, now });
  assert.deepEqual(event, JSON.parse(body));
  const forms: Partial<VerifyOptions>[] = [
    { body: bytes },
    { body: bytes.buffer },
    { body: Buffer.from(body) },
    { headers: new Headers(headers) },
    {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
      ),
    },
    { headers: { ...headers, accept: undefined, cookie: ['a', 'b'] } },
    { secret: secret.replace('whsec_', '') },
  ];
  for (const form of forms) assert.equal(await reasonOf(form), 'verified', JSON.stringify(form));
});

test('while a secret is rotated, either secret and either signature verifies', async () => {
  assert.equal(await reasonOf({ headers: sign(body, { by: [otherSecret, secret] }) }), 'verified');
  assert.equal(await reasonOf({ secret: [otherSecret, secret] }), 'verified');
  assert.equal(await reasonOf({ secret: [otherSecret] }), 'invalid_signature');
});

test('refuses a changed body, id, time or signature', async () => {
  const headers = sign(body);
  const signature = headers['webhook-signature'];
  assert.equal(await reasonOf({ body: body.replace('succeeded', 'failed') }), 'invalid_signature');
  assert.equal(await reasonOf({ headers: { ...headers, 'webhook-id': 'evt_2' } }), 'invalid_signature');
  const later = String(Number(headers['webhook-timestamp']) + 1);
  assert.equal(await reasonOf({ headers: { ...headers, 'webhook-timestamp': later } }), 'invalid_signature');
  const wrong = [
    signature.replace('v1,', 'v2,'),
    signature.replace('v1,', ''),
    signature.slice(0, -2),
    `v1,${'A'.repeat(43)}=`,
    'v1,not base64',
    'v1,',
    ' ',
  ];
  for (const text of wrong)
    assert.equal(
      await reasonOf({ headers: { ...headers, 'webhook-signature': text } }),
      'invalid_signature',
      text,
    );
});

test('refuses a message that is older or newer than five minutes', async () => {
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1_000);
  assert.equal(await reasonOf({ headers: sign(body, { at: at(-300) }) }), 'verified');
  assert.equal(await reasonOf({ headers: sign(body, { at: at(300) }) }), 'verified');
  assert.equal(await reasonOf({ headers: sign(body, { at: at(-301) }) }), 'invalid_timestamp');
  assert.equal(await reasonOf({ headers: sign(body, { at: at(301) }) }), 'invalid_timestamp');
  assert.equal(await reasonOf({ headers: sign(body, { at: at(-301) }), toleranceSeconds: 400 }), 'verified');
  for (const text of ['now', '1e9', '-1', '17631990000000000'])
    assert.equal(
      await reasonOf({ headers: { ...sign(body), 'webhook-timestamp': text } }),
      'invalid_timestamp',
      text,
    );
});

test('names a header that is missing, and a signed body that is not an event', async () => {
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
    assert.equal(await reasonOf({ headers: { ...sign(body), [name]: undefined } }), 'missing_header', name);
  for (const text of ['', 'null', '[]', '{"id":1}', '{"type":"x"}', '{'])
    assert.equal(await reasonOf({ body: text, headers: sign(text) }), 'invalid_body', text);
});

test('a mistake of the application is a TypeError, without the secret', async () => {
  const parsed = JSON.parse(body);
  const mistakes: Partial<VerifyOptions>[] = [
    { body: parsed },
    { secret: undefined },
    { secret: '' },
    { secret: [] },
    { secret: 'whsec_***' },
  ];
  for (const mistake of mistakes)
    await assert.rejects(
      () => reasonOf(mistake),
      (error) => error instanceof TypeError && !error.message.includes('***'),
    );
});
