import assert from 'node:assert/strict';
import { createCustomer } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';
import { browserTest } from './support/browser-test.ts';

interface Case {
  /** Of the installation. */
  readonly zone: string;
  readonly browserZone: string;
  readonly now: string;
  /** The month before that time in the zone, and the first times of this and of the next one. */
  readonly month: readonly [firstDay: string, lastDay: string];
  readonly ends: readonly [from: string, to: string];
  /** A typed time, how the field shows it then, and which time it is. */
  readonly typed: readonly [local: string, shown: string, time: string];
}

const cases: readonly Case[] = [
  {
    zone: 'Europe/Berlin',
    browserZone: 'Pacific/Apia',
    now: '2026-11-19T08:00:00Z',
    month: ['2026-10-01', '2026-10-31'],
    ends: ['2026-09-30T22:00:00.000Z', '2026-10-31T23:00:00.000Z'],
    // It comes twice on this day of 25 hours.
    typed: ['2026-10-25T02:30', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
  },
  {
    zone: 'America/Sao_Paulo',
    browserZone: 'Europe/Berlin',
    now: '2018-12-01T02:30:00Z',
    month: ['2018-11-01', '2018-11-30'],
    ends: ['2018-11-01T03:00:00.000Z', '2018-12-01T02:00:00.000Z'],
    // This day of 23 hours begins at 01:00.
    typed: ['2018-11-04T00:00', '2018-11-04T01:00', '2018-11-04T03:00:00.000Z'],
  },
  {
    zone: 'Asia/Kolkata',
    browserZone: 'America/Sao_Paulo',
    now: '2026-12-31T18:40:00Z',
    month: ['2026-12-01', '2026-12-31'],
    ends: ['2026-11-30T18:30:00.000Z', '2026-12-31T18:30:00.000Z'],
    typed: ['2026-03-29T02:30', '2026-03-29T02:30', '2026-03-28T21:00:00.000Z'],
  },
  {
    zone: 'Pacific/Apia',
    browserZone: 'Asia/Kolkata',
    now: '2012-01-15T08:00:00Z',
    month: ['2011-12-01', '2011-12-31'],
    ends: ['2011-12-01T10:00:00.000Z', '2011-12-31T10:00:00.000Z'],
    // The zone skipped the 30th.
    typed: ['2011-12-30T12:00', '2011-12-31T00:00', '2011-12-30T10:00:00.000Z'],
  },
];

for (const { zone, browserZone, now, month, ends, typed } of cases)
  browserTest(
    `a browser in ${browserZone} shows and filters times of a Till in ${zone} in that zone`,
    async ({ page, till, open }) => {
      await page.clock.setFixedTime(now);
      const [from, to] = ends;
      const before = (time: string) => new Date(Date.parse(time) - 1).toISOString();
      const customers = [
        ['The month before', before(from)],
        ['The first', from],
        ['The last', before(to)],
        ['The next month', to],
      ] as const;
      for (const [name, createdAt] of customers) {
        const { id } = await createCustomer(till, { name });
        await till.sql('update till.customers set created_at = $2 where id = $1', [id, createdAt]);
      }
      await open('/console/customers');
      await page.getByText(`Times in ${zone}`).waitFor();
      await page.getByLabel('Created', { exact: true }).selectOption('Last month');
      await until(async () => (await page.locator('tbody tr').count()) === 2);
      const shown = await page.locator('tbody').innerText();
      assert.match(shown, /The last[\s\S]*The first/);
      const query = () => new URL(page.url()).searchParams;
      assert.deepEqual([query().get('createdAfter'), query().get('createdBefore')], ends);
      // The same times are those of the overview.
      const overview = await till.get<{ timeZone: string; startsAt: string; endsAt: string }>(
        `/overview?from=${month[0]}&to=${month[1]}`,
      );
      assert.deepEqual([overview.timeZone, overview.startsAt, overview.endsAt], [zone, ...ends]);

      const field = page.getByLabel(`Created from (${zone})`);
      assert.equal(await field.inputValue(), `${month[0]}T00:00`);
      const format = new Intl.DateTimeFormat('en-US', {
        dateStyle: 'medium',
        timeStyle: 'short',
        timeZone: zone,
      });
      const time = page.locator(`time[datetime="${before(to)}"]`);
      assert.match((await time.textContent()) ?? '', new RegExp(`${format.format(Date.parse(before(to)))}$`));

      await field.fill(typed[0]);
      await field.press('Enter');
      await until(() => query().get('createdAfter') === typed[2]);
      assert.equal(await field.inputValue(), typed[1]);
      assert.equal(await page.getByLabel('Created', { exact: true }).inputValue(), 'other');
      await page.getByLabel('Created', { exact: true }).selectOption('Any time');
      await until(() => page.url().endsWith('/console/customers'));
      await page.goto(`${till.url}/console?from=${month[0]}&to=${month[1]}`);
      await page.getByLabel(`From (${zone})`).waitFor();
      const chosen = page.getByRole('list', { name: 'Ranges' }).locator('[aria-current]');
      assert.equal(await chosen.textContent(), 'Last month');
    },
    {
      browserZone,
      on: (t) => startTill({ in: 'process', for: t, hasConsole: true, overviewTimeZone: zone }),
    },
  );
