import { setTimeout as delay } from 'node:timers/promises';
import { apiKey } from '../load/requests.ts';
import type { BenchDatabase } from './database.ts';
import type { Lab } from './lab.ts';
import { seedLists } from './seed-lists.ts';

const rowsFew = 10_000;
const rowsFull = 5_000_000;
const rowsQuick = 250_000;
const pollDelayMs = 200;
/** Five minutes: the first count of twenty million rows takes about one. */
const pollsMax = 1_500;

/** A database with the same number of rows in each list. */
export interface ListShop {
  readonly database: BenchDatabase;
  readonly rows: number;
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
  return {
    few: await seedShop(lab, rowsFew),
    many: await seedShop(lab, lab.amount(rowsFull, rowsQuick)),
  };
}

async function seedShop(lab: Lab, rows: number): Promise<ListShop> {
  const database = await lab.database('till');
  lab.endLater(async () => database[Symbol.asyncDispose]());
  await seedLists(database, rows);
  await expectCounted(database, rows);
  await countOverview(lab, database);
  return { database, rows };
}

/** The counter behind `total` must have counted every row. */
async function expectCounted(database: BenchDatabase, rows: number): Promise<void> {
  const [counted] = await database.query<{ total: number }>(
    `select sum(count)::int as total from till.list_counts where resource = 'payments'`,
  );
  if (counted?.total !== rows) throw new Error(`${counted?.total} of ${rows} payments are counted`);
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
