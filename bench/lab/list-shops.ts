import { setTimeout as delay } from 'node:timers/promises';
import { apiKey } from '../load/requests.ts';
import type { BenchDatabase } from './database.ts';
import type { Lab } from './lab.ts';
import { type ListSizes, seedLists } from './seed-lists.ts';

const rowsFew = 10_000;
const rowsFull = 5_000_000;
const rowsQuick = 250_000;
const pollDelayMs = 200;
/** Five minutes: the first count of twenty million rows takes about one. */
const pollsMax = 1_500;

/** A database with many rows in each list. */
export interface ListShop extends ListSizes {
  readonly database: BenchDatabase;
}

export interface ListShops {
  readonly few: ListShop;
  readonly many: ListShop;
}

const shops = new WeakMap<Lab, Promise<ListShops>>();

/** The databases that all scenarios of lists share. Seeding takes longer than most scenarios, so it happens once. */
export function listShops(lab: Lab): Promise<ListShops> {
  const seeded = shops.get(lab) ?? seedShops(lab);
  shops.set(lab, seeded);
  return seeded;
}

async function seedShops(lab: Lab): Promise<ListShops> {
  const rows = lab.amount(rowsFull, rowsQuick);
  return {
    few: await seedShop(lab, { rows: rowsFew, payments: rowsFew }),
    many: await seedShop(lab, { rows, payments: lab.scale.payments ?? rows }),
  };
}

/** The sizes of both, for the note of a finding. */
export function describeShops({ few, many }: ListShops): string {
  const [rows, payments, fewRows] = [many.rows, many.payments, few.rows].map((count) =>
    count.toLocaleString('en-US'),
  );
  const more = rows === payments ? '' : ` and ${payments} payments`;
  return `${rows} rows${more} against ${fewRows}`;
}

async function seedShop(lab: Lab, sizes: ListSizes): Promise<ListShop> {
  const database = await lab.database('till');
  lab.endLater(async () => database[Symbol.asyncDispose]());
  await seedLists(database, sizes);
  await expectCounted(database, sizes);
  await countOverview(lab, database);
  return { database, ...sizes };
}

/** The counter behind `total` must have counted every row. */
async function expectCounted(database: BenchDatabase, { payments }: ListSizes): Promise<void> {
  const [counted] = await database.query<{ total: number }>(
    `select sum(count)::int as total from till.list_counts where resource = 'payments'`,
  );
  if (counted?.total !== payments) throw new Error(`${counted?.total} of ${payments} payments are counted`);
}

/** A process counts all rows once, at its first start. Without this, it would do so beside the first measurement. */
async function countOverview(lab: Lab, database: BenchDatabase): Promise<void> {
  await using till = await lab.startTill(database);
  for (let poll = 0; poll < pollsMax; poll += 1) {
    const { ok } = await fetch(`${till.url}/api/v1/overview`, { headers: { 'x-api-key': apiKey } });
    if (ok) return;
    await delay(pollDelayMs);
  }
  throw new Error('the overview was not counted');
}
