import assert from 'node:assert/strict';
import type { Sql } from '../backend.ts';
import type { Client } from '../client.ts';
import { computeHistory } from './overview-history.ts';
import { countCells, countSubscribers } from './overview-rows.ts';

/** Each request counts up to ten thousand events. */
const requestsMax = 50;
/** On a day, these metrics have changes. Rows do not show them, but events do. */
const historyMetrics = String.raw`'^(subscriptions|recurring|mrr|trials|recovery)\.'`;

/** The numbers of the overview, kept up to date from the events, are those of a full computation from the rows. */
export async function assertOverviewExact(client: Pick<Client, 'get'>, sql: Sql): Promise<void> {
  const { timeZone } = await becomeCurrent(client);
  assert.deepEqual(await readCells(sql), await countCells(sql, timeZone));
  const stored = await sql<{ subscriber: string }>(
    `select concat_ws(' ', customer_id, currency, monthly_amount) as subscriber from till.overview_subscribers
     where monthly_amount <> 0 order by 1`,
  );
  assert.deepEqual(stored.map(({ subscriber }) => subscriber).sort(), await countSubscribers(sql));
}

/** If there is an event for every change, the changes of past days are those that the events show one by one. */
export async function assertHistoryExact(client: Pick<Client, 'get'>, sql: Sql): Promise<void> {
  const { timeZone } = await becomeCurrent(client);
  const rows = await sql<{ cell: string }>(
    `select concat_ws(' ', day, currency, metric, count, amount) as cell from till.overview_cells
     where day < 'infinity' and metric ~ ${historyMetrics} and metric !~ '^(subscriptions|recurring)' and (count <> 0 or amount <> 0)`,
  );
  const history = await computeHistory(sql, timeZone);
  assert.deepEqual(rows.map(({ cell }) => cell).sort(), history);
  assert.deepEqual(await addUpMoves(sql), history);
}

/** The changes that are listed one by one, added up by day, currency and metric. */
async function addUpMoves(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ cell: string }>(
    `select concat_ws(' ', day, currency, metric, count(*), sum(amount)) as cell from till.overview_moves
     where metric <> 'seed' group by day, currency, metric`,
  );
  return rows.map(({ cell }) => cell).sort();
}

async function becomeCurrent(client: Pick<Client, 'get'>): Promise<{ readonly timeZone: string }> {
  for (let requests = 0; requests < requestsMax; requests += 1) {
    const body = await client.get<{ isCurrent: boolean; timeZone: string }>('/overview');
    if (body.isCurrent) return body;
  }
  assert.fail('the overview does not become current');
}

/** The numbers that the overview has, but for the changes of past days. */
export async function readCells(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ cell: string }>(
    `select concat_ws(' ', day, currency, metric, count, amount) as cell from till.overview_cells
     where (day = 'infinity' or metric !~ ${historyMetrics}) and (count <> 0 or amount <> 0)`,
  );
  return rows.map(({ cell }) => cell).sort();
}
