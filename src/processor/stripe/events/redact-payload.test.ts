import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import { eventFixture } from '../../../../test/fixtures/event-fixture.ts';
import { readEvent } from './map-event.ts';
import { redactPayload, redactStored } from './redact-payload.ts';

const fixtures = globSync('test/fixtures/events/*.json').map((path) => basename(path, '.json'));

/** The events whose personal data the customer's row stores. */
const personal = ['customer.created', 'customer.updated'];

/** The events about objects of a customer whose rows store metadata. */
const owned = fixtures.filter((name) => /^(?:payment_intent|customer\.subscription)\./.test(name));

/** The events whose metadata a mirror stores. */
const described = [...personal, ...owned, 'product.updated'];

/** Personal data in every place where the processor sends it; every text contains "Ada". */
const person = {
  address: { city: 'Ada town', line1: '1 Ada street' },
  billing_details: { email: 'Ada@example.com', name: 'Ada', phone: '+44 Ada' },
  cancellation_details: { comment: 'Ada moves', reason: 'cancellation_requested' },
  customer_address: { line1: '1 Ada street' },
  customer_email: 'Ada@example.com',
  customer_name: 'Ada',
  customer_phone: '+44 Ada',
  customer_shipping: { name: 'Ada' },
  customer_tax_ids: [{ type: 'eu_vat', value: 'Ada 123' }],
  default_source: { id: 'card_1', object: 'card', last4: 'Ada4', name: 'Ada' },
  description: 'For Ada',
  last_payment_error: { payment_method: { id: 'pm_1', object: 'payment_method', card: { last4: 'Ada4' } } },
  lines: { object: 'list', data: [{ id: 'il_1', object: 'line_item', description: 'Ada' }] },
  payment_method_details: { card: { last4: 'Ada4' } },
  receipt_email: 'Ada@example.com',
  receipt_url: 'https://pay.example.com/Ada',
  shipping: { name: 'Ada' },
  tax: { ip_address: 'Ada::1' },
  tax_ids: { object: 'list', data: [{ id: 'txi_1', object: 'tax_id', value: 'Ada 123' }] },
};

function withPerson(name: string, more: object = person): { data: { object: object } } {
  const event = JSON.parse(eventFixture(name));
  const metadata = { ...event.data.object.metadata, note: 'Ada' };
  return {
    ...event,
    data: {
      object: { ...event.data.object, ...more, ...('metadata' in event.data.object ? { metadata } : {}) },
      previous_attributes: { email: 'Ada@example.com', name: 'Ada' },
    },
  };
}

describe('a redacted event', () => {
  for (const name of fixtures) {
    test(`${name} keeps only the personal data that a mirror stores, and maps to the same facts`, () => {
      const event = withPerson(name);
      const before = JSON.stringify(event);
      const { payload } = redactPayload(event);
      assert.deepEqual(readEvent(payload), readEvent(JSON.stringify(event)));
      assert.doesNotMatch(withoutStored(name, payload), /Ada/);
      assert.match(before, /Ada/);
    });
  }

  test('a charge keeps only the details of its payment method that a payment shows', () => {
    const details = {
      type: 'card',
      card: {
        ...{ brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2034, capture_before: 1767830450 },
        ...{
          checks: {},
          country: 'US',
          fingerprint: 'fp',
          funding: 'credit',
          network: 'visa',
          wallet: 'Ada',
        },
      },
      sepa_debit: { last4: '3000' },
    };
    const { payload } = redactPayload(withPerson('charge.succeeded', { payment_method_details: details }));
    assert.deepEqual(JSON.parse(payload).data.object.payment_method_details, {
      type: 'card',
      card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2034, capture_before: 1767830450 },
    });
    assert.doesNotMatch(payload, /Ada/);
  });

  test('a dispute keeps what a payment shows and its links, and nothing of its evidence', () => {
    const fixture = JSON.parse(eventFixture('charge.dispute.created')).data.object;
    const charge = { id: 'ch_1', object: 'charge', payment_intent: { id: 'pi_1', ...person }, ...person };
    const evidence = { ...fixture.evidence, access_activity_log: 'Ada', enhanced_evidence: { x: 'Ada' } };
    const more = { ...person, charge, evidence, evidence_details: { due_by: 1768089599, note: 'Ada' } };
    const { payload } = redactPayload(withPerson('charge.dispute.created', more));
    assert.doesNotMatch(payload, /Ada/);
    const { id, object, amount, created, currency, reason, status, payment_intent } = fixture;
    assert.deepEqual(JSON.parse(payload).data.object, {
      ...{ id, object, amount, created, currency, reason, status, payment_intent },
      charge: { id: 'ch_1', object: 'charge', payment_intent: { id: 'pi_1' } },
      evidence_details: { due_by: 1768089599 },
    });
  });

  test('the URL of a PDF is kept only of invoices', () => {
    const pdf = { invoice_pdf: 'https://pay.example.com/1.pdf' };
    for (const [object, kept] of [
      ['invoice', pdf.invoice_pdf],
      ['subscription', null],
    ] as const) {
      const { payload } = redactPayload({ object: 'event', data: { object: { object, ...pdf } } });
      assert.equal(JSON.parse(payload).data.object.invoice_pdf, kept);
    }
  });

  test('an object of a kind that no mirror uses is reduced to its id and kind', () => {
    const object = { id: 'cs_1', object: 'checkout.session', dob: { year: 1815 }, customer_details: {} };
    const { payload } = redactPayload({ object: 'event', data: { object } });
    assert.deepEqual(JSON.parse(payload).data, { object: { id: 'cs_1', object: 'checkout.session' } });
  });

  test('only the id and kind of a setup intent or a payment method are kept', () => {
    for (const object of [
      { id: 'seti_1', object: 'setup_intent', client_secret: 'hush', payment_method: 'pm_1' },
      { id: 'pm_1', object: 'payment_method', card: { last4: 'hush', fingerprint: 'hush' } },
    ]) {
      const kept = { id: object.id, object: object.object };
      const { payload } = redactPayload({ object: 'event', data: { object } });
      assert.deepEqual(JSON.parse(payload).data, { object: kept });
      const failed = { object: 'event', data: { object: { object: 'payment_intent', nested: object } } };
      assert.deepEqual(JSON.parse(redactPayload(failed).payload).data.object.nested, kept);
    }
  });

  test('a secret field becomes null at any depth, whatever its value', () => {
    const object = {
      client_secret: 'hush',
      kept: 'secretary',
      list: [{ deeper: { confirmation_secret: { client_secret: 'hush' } } }],
      secret: 7,
    };
    const { payload } = redactPayload({ data: { object } });
    assert.deepEqual(JSON.parse(payload).data.object, {
      client_secret: null,
      kept: 'secretary',
      list: [{ deeper: { confirmation_secret: null } }],
      secret: null,
    });
  });

  test('everything else is unchanged, including prototype keys', () => {
    const text = '{"__proto__":{"a":1},"client_secret":null,"n":1.5}';
    assert.equal(redactPayload(JSON.parse(text)).payload, text);
  });
});

describe('an erased event', () => {
  test('contains no personal data, and is read as erased', () => {
    const { erasedPayload } = redactPayload(withPerson('customer.updated', { email: 'Ada@example.com' }));
    assert.doesNotMatch(erasedPayload ?? 'Ada', /Ada/);
    assert.deepEqual(readEvent(erasedPayload ?? ''), { subject: 'none', reason: 'erased' });
  });

  test('about a payment or subscription keeps everything except the metadata and the reason of a cancellation', () => {
    for (const name of owned) {
      const { erasedPayload } = redactPayload(withPerson(name));
      assert.doesNotMatch(erasedPayload ?? 'Ada', /Ada/);
      const { subject, facts } = Object(readEvent(redactPayload(withPerson(name)).payload));
      const { cancellationReason, ...kept } = facts[0];
      assert.equal(cancellationReason, subject === 'subscription' ? 'Ada moves' : undefined);
      assert.deepEqual(readEvent(erasedPayload ?? ''), { subject, facts: [{ ...kept, metadata: null }] });
    }
  });

  test('exists only where there is personal data to erase', () => {
    for (const name of fixtures) {
      const { erasedPayload } = redactPayload(JSON.parse(eventFixture(name)));
      assert.equal(erasedPayload !== null, personal.includes(name), name);
    }
    for (const name of owned) assert.notEqual(redactPayload(withPerson(name)).erasedPayload, null, name);
    const noPersonalData = { email: null, name: null, phone: null };
    const { data, ...event } = JSON.parse(eventFixture('customer.updated'));
    const withoutPerson = { ...event, data: { ...data, object: { ...data.object, ...noPersonalData } } };
    assert.equal(redactPayload(withoutPerson).erasedPayload, null);
    const withMetadata = withPerson('customer.updated', noPersonalData);
    assert.doesNotMatch(redactPayload(withMetadata).erasedPayload ?? 'Ada', /Ada/);
  });
});

test('an event of an unknown type keeps no metadata, and is marked as erased', () => {
  const event = { ...withPerson('payment_intent.succeeded'), type: 'payment_intent.later' };
  const { payload, erasedPayload } = redactPayload(event);
  assert.doesNotMatch(payload + erasedPayload, /Ada/);
  const { facts } = Object(
    readEvent(JSON.stringify({ ...JSON.parse(payload), type: 'payment_intent.succeeded' })),
  );
  assert.equal(facts[0].metadata, null);
});

describe('a stored event', () => {
  test('is redacted by the current rules, and redacting it again changes nothing', () => {
    for (const name of fixtures) {
      const { payload, erasedPayload } = redactStored(JSON.stringify(withPerson(name)));
      assert.deepEqual(redactStored(payload), { payload, erasedPayload }, name);
      const received = redactPayload(withPerson(name));
      assert.deepEqual(redactStored(received.payload), received, name);
      if (erasedPayload !== null) assert.equal(redactStored(erasedPayload).payload, erasedPayload);
    }
  });

  test('that is not JSON is emptied', () => {
    assert.deepEqual(redactStored('Ada'), { payload: '{}', erasedPayload: null });
  });
});

test('of the metadata of a price, only its id and the mark of an add-on are kept', () => {
  const event = JSON.parse(eventFixture('price.updated'));
  const { till_id } = event.data.object.metadata;
  for (const [mark, kept] of [
    ['true', { till_id, till_add_on: 'true' }],
    ['Ada', { till_id }],
  ] as const) {
    const metadata = { till_id, till_add_on: mark, note: 'Ada' };
    const edited = { ...event, data: { object: { ...event.data.object, metadata } } };
    const { payload, erasedPayload } = redactPayload(edited);
    assert.deepEqual([JSON.parse(payload).data.object.metadata, erasedPayload], [kept, null]);
    assert.equal(redactStored(payload).payload, payload);
    const { facts } = Object(readEvent(payload));
    assert.equal(facts[0].addOn, mark === 'true');
  }
});

/** The payload without what a mirror stores of it. */
function withoutStored(name: string, payload: string): string {
  const { data, ...event } = JSON.parse(payload);
  const { email, name: title, phone, metadata, cancellation_details: details, ...object } = data.object;
  const rest = {
    ...object,
    ...(personal.includes(name) ? {} : { email, name: title, phone }),
    ...(described.includes(name) ? {} : { metadata }),
    ...(/^customer\.subscription\./.test(name) ? {} : { cancellation_details: details }),
  };
  return JSON.stringify({ ...event, data: { ...data, object: rest } });
}
