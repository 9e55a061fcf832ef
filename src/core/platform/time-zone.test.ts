import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
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

test('a time of day that clocks skip is the time at which they do, and one that comes twice is the first', () => {
  const timeOf = (zone: string, local: string) => iso(new TimeZone(zone).timeOf(local));
  const [sao, kolkata, apia] = ['America/Sao_Paulo', 'Asia/Kolkata', 'Pacific/Apia'];
  assert.equal(timeOf('UTC', '2026-03-29T02:30'), '2026-03-29T02:30:00.000Z');
  assert.equal(timeOf('Europe/Berlin', '2026-03-29T01:59'), '2026-03-29T00:59:00.000Z');
  assert.equal(timeOf('Europe/Berlin', '2026-03-29T02:30'), '2026-03-29T01:00:00.000Z');
  assert.equal(timeOf('Europe/Berlin', '2026-03-29T03:00'), '2026-03-29T01:00:00.000Z');
  assert.equal(timeOf('Europe/Berlin', '2026-10-25T02:30'), '2026-10-25T00:30:00.000Z');
  assert.equal(timeOf('Europe/Berlin', '2026-10-25T03:00'), '2026-10-25T02:00:00.000Z');
  // Clocks go from 00:00 to 01:00, and in autumn from 00:00 to 23:00.
  assert.equal(timeOf(sao, '2018-11-04T00:00'), '2018-11-04T03:00:00.000Z');
  assert.equal(timeOf(sao, '2018-02-17T23:30'), '2018-02-18T01:30:00.000Z');
  assert.equal(timeOf(sao, '2018-02-18T00:00'), '2018-02-18T03:00:00.000Z');
  assert.equal(timeOf(kolkata, '2026-01-01T00:00'), '2025-12-31T18:30:00.000Z');
  // The zone skipped the 30th.
  assert.equal(timeOf(apia, '2011-12-29T23:59'), '2011-12-30T09:59:00.000Z');
  assert.equal(timeOf(apia, '2011-12-30T12:00'), '2011-12-30T10:00:00.000Z');
  assert.equal(timeOf(apia, '2011-12-31T00:00'), '2011-12-30T10:00:00.000Z');
  assert.ok(Number.isNaN(berlin.timeOf('')));
});

test('what clocks show leads back to the same time, or to the first at which they show it', async () => {
  const zones = ['Europe/Berlin', 'America/Sao_Paulo', 'Asia/Kolkata', 'Pacific/Apia', 'Australia/Lord_Howe'];
  const [fromMinute, toMinute] = [Date.parse('2005-01-01') / 60_000, Date.parse('2030-01-01') / 60_000];
  const times = fc.integer({ min: fromMinute, max: toMinute }).map((minute) => minute * 60_000);
  const changes = zones.flatMap((name) => {
    const zone = new TimeZone(name);
    const offsetOf = (ms: number) => Date.parse(`${zone.localOf(ms)}Z`) - ms;
    const changesBetween = (startMs: number, count: number, stepMs: number) =>
      Array.from({ length: count }, (_, step) => startMs + step * stepMs).filter(
        (ms) => offsetOf(ms) !== offsetOf(ms + stepMs),
      );
    // Reading the clock of a zone is slow: only the days that have a change are searched by the hour.
    const days = changesBetween(Date.parse('2005-01-01'), 25 * 365, 86_400_000);
    return days.flatMap((ms) => changesBetween(ms, 24, 3_600_000));
  });
  const nearChanges = fc
    .tuple(fc.constantFrom(...changes), fc.integer({ min: -2_000, max: 2_000 }))
    .map(([ms, minutes]) => ms + minutes * 60_000);
  await assertProperty(
    fc.property(fc.constantFrom(...zones), fc.oneof(times, nearChanges), (name, timeMs) => {
      const zone = new TimeZone(name);
      const local = zone.localOf(timeMs);
      const found = zone.timeOf(local);
      assert.equal(zone.localOf(found), local);
      assert.ok(found <= timeMs && timeMs - found <= 3_600_000, `${name} ${iso(timeMs)}`);
      const day = zone.dayOf(timeMs);
      assert.equal(zone.timeOf(`${day}T00:00`), zone.startOf(day), `${name} ${day}`);
    }),
  );
});
