import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseAsOf } from './responses.ts';

const localNowMs = Date.UTC(2026, 0, 1);

/** A response as the official package returns it. */
function responseDated(date: string | undefined): object {
  return { id: 'cus_1', lastResponse: { headers: { date } } };
}

test('a response was true between the start of its request and the time at which the processor wrote it', () => {
  const response = responseDated('Mon, 05 May 2031 12:00:30 GMT');
  for (const [elapsedMs, earliest] of [
    [0, '2031-05-05T12:00:30Z'],
    [1, '2031-05-05T12:00:29Z'],
    [1_000, '2031-05-05T12:00:29Z'],
    [9_500, '2031-05-05T12:00:20Z'],
  ] as const) {
    const latest = new Date('2031-05-05T12:00:30Z');
    assert.deepEqual(responseAsOf(response, elapsedMs, localNowMs), { earliest: new Date(earliest), latest });
  }
});

test('without a readable date, the local clock decides', () => {
  for (const response of [responseDated(undefined), responseDated('yesterday'), {}]) {
    const asOf = { earliest: new Date('2025-12-31T23:59:58Z'), latest: new Date('2026-01-01T00:00:00Z') };
    assert.deepEqual(responseAsOf(response, 1_500, localNowMs), asOf);
  }
});
