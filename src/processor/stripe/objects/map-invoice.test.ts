import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventFixture } from '../../../../test/fixtures/event-fixture.ts';
import { atSecond } from '../../../../test/support/transitions.ts';
import { readEvent } from '../events/map-event.ts';
import { redactPayload } from '../events/redact-payload.ts';
import { mapInvoice } from './map-invoice.ts';

const event = JSON.parse(eventFixture('invoice.paid.newer'));

/** Until when an invoice with these lines pays, in seconds; the stored event must say the same. */
function coversUntil(lines: unknown, billingReason = 'subscription_cycle'): number | null | undefined {
  const object = {
    ...{ ...event.data.object, billing_reason: billingReason },
    ...(lines === undefined ? {} : { lines }),
  };
  const { coversUntil } = mapInvoice(object, atSecond(1_000));
  const stored = readEvent(redactPayload({ ...event, data: { object } }).payload);
  assert(stored.subject === 'invoice');
  assert.deepEqual(stored.facts[0]?.coversUntil, coversUntil);
  return coversUntil && coversUntil.getTime() / 1_000;
}

const list = (...data: readonly object[]) => ({ object: 'list', data, has_more: false });
const line = (end: number, parent: object | null, more: object = {}) => ({
  ...{ id: `il_${end}`, object: 'line_item', amount: 900, description: 'Gold', metadata: { a: 'b' } },
  ...{ period: { start: 0, end }, parent, ...more },
});
const item = (proration = false) => ({
  type: 'subscription_item_details',
  subscription_item_details: { subscription: 'sub_1', proration },
});
const extra = (proration: boolean) => ({
  type: 'invoice_item_details',
  invoice_item_details: { subscription: 'sub_1', proration },
});

test('an invoice pays until the end of the period that the lines of its subscription bill', () => {
  assert.equal(coversUntil(list(line(300, item()), line(300, item()))), 300);
  // The yearly add-on of a monthly plan does not extend what is paid, and usage is billed afterwards.
  assert.equal(coversUntil(list(line(900, item()), line(300, item()), line(900, item()))), 300);
  const from = (start: number, end: number) => ({ period: { start, end } });
  const renewal = list(line(0, item(), from(100, 200)), line(0, item(), from(200, 300)));
  assert.equal(coversUntil(renewal), 300);
  assert.equal(coversUntil(list(line(700, item(), { amount: 0 }))), 700, 'a trial costs nothing');
});

test('what was added to the invoice by hand, and credits for unused time, do not count', () => {
  assert.equal(coversUntil(list(line(900, extra(false)), line(100, item()))), 100);
  assert.equal(coversUntil(list(line(900, null), line(100, item()))), 100);
  assert.equal(coversUntil(list(line(900, item(true), { amount: -5 }), line(100, item()))), 100);
  assert.equal(coversUntil(list(line(900, extra(false)))), null);
  assert.equal(coversUntil(list()), null);
});

test('a charge for a change within a period does not pay for the period', () => {
  for (const prorated of [item(true), extra(true)]) {
    assert.equal(coversUntil(list(line(900, prorated))), null);
    assert.equal(coversUntil(list(line(50, prorated, { amount: -5 }), line(900, prorated))), null);
    assert.equal(coversUntil(list(line(900, prorated), line(100, item()))), 100);
    // A first period that is shorter than the others is billed in this way.
    assert.equal(coversUntil(list(line(900, prorated)), 'subscription_create'), 900);
  }
  // The change to another interval credits the old period, and bills the new one.
  assert.equal(coversUntil(list(line(900, item(true), { amount: -5 }), line(300, item()))), 300);
});

test('lines of the older shape count in the same way', () => {
  const older = (end: number, type: string, proration: boolean) => {
    const { parent: _, ...rest } = line(end, null, { type, proration, subscription: 'sub_1' });
    return rest;
  };
  const lines = [older(300, 'invoiceitem', false), older(200, 'invoiceitem', true)];
  assert.equal(coversUntil(list(older(100, 'subscription', false), ...lines)), 100);
  assert.equal(coversUntil(list(older(100, 'subscription', true), ...lines)), null);
});

test('it is unknown if lines are missing, or if a line does not show what it bills', () => {
  assert.equal(coversUntil(undefined), undefined);
  assert.equal(coversUntil({ ...list(line(100, item())), has_more: true }), undefined);
  assert.equal(coversUntil(list({ id: 'il_1', object: 'line_item' })), undefined);
});

test('a voided invoice may lose items or discounts, unless it bills only periods and prorations', () => {
  const mayLose = (type: string, lines: unknown, discounts: readonly string[] = []) => {
    const object = { ...event.data.object, status: 'void', lines, discounts };
    const stored = readEvent(redactPayload({ ...event, type, data: { object } }).payload);
    assert(stored.subject === 'invoice');
    return stored.facts[0]?.mayLose === true;
  };
  const older = (type: string, proration: boolean) => {
    const { parent: _, ...rest } = line(100, null, { type, proration });
    return rest;
  };
  const own = [line(100, item()), line(100, item(true)), line(100, extra(true))];
  const ownOlder = [older('subscription', false), older('invoiceitem', true)];
  for (const [lines, expected] of [
    [list(...own), false],
    [list(...ownOlder), false],
    [list(...own, line(100, extra(false))), true],
    [list(...ownOlder, older('invoiceitem', false)), true],
    [{ ...list(...own), has_more: true }, true],
  ] as const) {
    assert.equal(mayLose('invoice.voided', lines), expected);
    assert.equal(mayLose('invoice.updated', lines), false);
  }
  assert.equal(mayLose('invoice.voided', list(...own), ['di_1']), true);
});
