import assert from 'node:assert/strict';
import { countedTables } from '../../../src/overview/overview-count-store.ts';
import type { Queryable } from '../../../src/platform/postgres.ts';
import type { Sql } from '../backend.ts';
import type { Client } from '../client.ts';

/** Each request counts up to ten thousand events. */
const requestsMax = 50;

/** The numbers of the overview, kept up to date from the events, are those of a full computation from the rows. */
export async function assertOverviewExact(client: Pick<Client, 'get'>, sql: Sql): Promise<void> {
  let isCurrent = false;
  for (let requests = 0; !isCurrent; requests += 1) {
    assert.ok(requests < requestsMax, 'the overview does not become current');
    ({ isCurrent } = await client.get<{ isCurrent: boolean }>('/overview'));
  }
  assert.deepEqual(await readCells(sql), await computeCells(sql));
}

/** The numbers that the overview has, but for the changes of past days. */
export async function readCells(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ cell: string }>(
    `select concat_ws(' ', day, currency, metric, count, amount) as cell from till.overview_cells
     where (day = 'infinity' or metric !~ '^(subscriptions|recurring)\\.') and (count <> 0 or amount <> 0)`,
  );
  return rows.map(({ cell }) => cell).sort();
}

/** The same, from the rows. */
export async function computeCells(sql: Sql): Promise<readonly string[]> {
  const db: Queryable = { query: (text, values) => sql(text, [...(values ?? [])]) };
  const counted = await Promise.all(countedTables.map((table) => table.count(db, undefined, 10_000_000)));
  return counted
    .flatMap(({ cells }) => cells)
    .map(({ day, currency, metric, count, amount }) => `${day} ${currency} ${metric} ${count} ${amount}`)
    .sort();
}
