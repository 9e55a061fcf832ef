import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvent } from '../../src/processor/stripe/events/map-event.ts';
import { verifyWebhook } from '../../src/processor/stripe/events/verify-webhook.ts';
import { eventRequests, firstEventSeconds, objectCount, webhookSecret } from './events.ts';
import { makeRequests } from './requests.ts';

const now = new Date();
const startSeconds = firstEventSeconds(now.getTime());

function bodies(first: number, count: number): string[] {
  const requests = eventRequests({ first, count, startSeconds }, now.getTime());
  return requests.map((request) => {
    const text = request.toString();
    const signature = /stripe-signature: (.*)\r\n/.exec(text)?.[1];
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    const verified = verifyWebhook(Buffer.from(body), signature, [webhookSecret], now);
    assert.equal(verified.outcome, 'event');
    return body;
  });
}

test('every event of the benchmark is signed, 2 KB long, and about a mirrored resource', () => {
  const three = bodies(0, 3);
  assert.deepEqual(
    three.map((body) => Buffer.byteLength(body)),
    [2_048, 2_048, 2_048],
  );
  assert.deepEqual(
    three.map((body) => readEvent(body).subject),
    ['subscription', 'payment', 'invoice'],
  );
});

test('the next event about an object is newer and changes it', () => {
  for (const object of [0, 1, 2]) {
    const [earlier, later] = [...bodies(object, 1), ...bodies(object + objectCount, 1)].map((body) =>
      JSON.parse(body),
    );
    assert.equal(earlier.data.object.id, later.data.object.id);
    assert.ok(earlier.created < later.created);
    const facts = ({ status, amount_due }: { status: string; amount_due?: number }) => [status, amount_due];
    assert.notDeepEqual(facts(earlier.data.object), facts(later.data.object));
  }
});

test('with four targets two get each event, and a single target gets it twice', () => {
  const series = { first: 0, count: 12, startSeconds };
  const idsOf = (part: number, of: number) =>
    makeRequests({ kind: 'events', series, take: { part, of } }, now.getTime()).map(
      (request) => /evt_bench_\d+/.exec(request.toString())?.[0],
    );
  const ids = Array.from({ length: 12 }, (_, number) => `evt_bench_${number}`);
  assert.deepEqual(idsOf(0, 1).toSorted(), [...ids, ...ids].toSorted());
  const parts = [0, 1, 2, 3].map((part) => idsOf(part, 4));
  for (const part of parts) assert.equal(new Set(part).size, part.length);
  assert.deepEqual(parts.flat().toSorted(), [...ids, ...ids].toSorted());
});
