import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relativeTime } from './relative-time.ts';

const nowMs = Date.parse('2026-11-17T12:00:00.000Z');

test('a time within a week is relative, in its largest whole unit', () => {
  const texts = {
    '2026-11-17T11:59:01.000Z': 'now',
    '2026-11-17T12:00:30.000Z': 'now',
    '2026-11-17T11:59:00.000Z': '1 minute ago',
    '2026-11-17T09:00:01.000Z': '2 hours ago',
    '2026-11-17T15:00:00.000Z': 'in 3 hours',
    '2026-11-16T11:00:00.000Z': 'yesterday',
    '2026-11-10T12:00:01.000Z': '6 days ago',
    '2026-11-20T12:00:00.000Z': 'in 3 days',
  };
  for (const [value, text] of Object.entries(texts)) assert.equal(relativeTime(value, nowMs), text, value);
});

test('a time that is further away, or malformed, is not relative', () => {
  for (const value of [
    '2026-11-10T12:00:00.000Z',
    '2026-11-24T12:00:00.000Z',
    '2027-11-17T12:00:00.000Z',
    '',
  ])
    assert.equal(relativeTime(value, nowMs), undefined, value);
});
