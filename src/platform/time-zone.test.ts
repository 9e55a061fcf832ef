import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTimeZone, TimeZone } from './time-zone.ts';

const berlin = new TimeZone('Europe/Berlin');
const iso = (timeMs: number) => new Date(timeMs).toISOString();

test('a day is that of the zone, in winter and in summer', () => {
  assert.equal(berlin.dayOfIso('2026-01-31T22:59:59.999Z'), '2026-01-31');
  assert.equal(berlin.dayOfIso('2026-01-31T23:00:00.000Z'), '2026-02-01');
  assert.equal(berlin.dayOfIso('2026-07-31T21:59:59.999Z'), '2026-07-31');
  assert.equal(berlin.dayOfIso('2026-07-31T22:00:00.000Z'), '2026-08-01');
  assert.equal(new TimeZone('UTC').dayOfIso('2026-07-31T23:59:59.999Z'), '2026-07-31');
  assert.equal(new TimeZone('Asia/Kathmandu').dayOfIso('2026-07-31T18:15:00.000Z'), '2026-08-01');
});

test('the days on which clocks change have 23 and 25 hours', () => {
  const hours = (day: string) => (berlin.endOf(day) - berlin.startOf(day)) / 3_600_000;
  assert.deepEqual(['2026-03-28', '2026-03-29', '2026-10-25'].map(hours), [24, 23, 25]);
  assert.equal(iso(berlin.startOf('2026-03-29')), '2026-03-28T23:00:00.000Z');
  assert.equal(iso(berlin.endOf('2026-03-29')), '2026-03-29T22:00:00.000Z');
});

test('a day begins at the first time that belongs to it', () => {
  // Clocks go from 00:00 to 01:00.
  assert.equal(iso(new TimeZone('Africa/Cairo').startOf('2026-04-24')), '2026-04-23T22:00:00.000Z');
  // The zone skipped this day.
  const apia = new TimeZone('Pacific/Apia');
  assert.equal(apia.startOf('2011-12-30'), apia.startOf('2011-12-31'));
  for (const name of ['Pacific/Kiritimati', 'Australia/Lord_Howe']) {
    const zone = new TimeZone(name);
    for (let ms = Date.parse('2026-01-01'); ms < Date.parse('2027-01-01'); ms += 86_400_000) {
      const day = iso(ms).slice(0, 10);
      const start = zone.startOf(day);
      assert.deepEqual([zone.dayOf(start), zone.dayOf(start - 1) < day], [day, true]);
    }
  }
});

test('the first and the last day of the calendar have times', () => {
  assert.equal(berlin.dayOf(berlin.startOf('0001-01-01')), '0001-01-01');
  assert.equal(iso(berlin.endOf('9999-12-31')), '9999-12-31T23:59:59.999Z');
});

test('only names of the IANA database are time zones', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])
    assert.ok(isTimeZone(name), name);
  for (const name of ['', 'Berlin', 'Europe/Nowhere', '+01:00', '-0500', 'Europe/Berlin ', "x'y", '../etc'])
    assert.ok(!isTimeZone(name), name);
});
