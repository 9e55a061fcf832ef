import type { BenchDatabase } from '../lab/database.ts';
import type { Lab } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { customerOf, paymentsPerCustomer, seedPayments } from '../lab/seed-payments.ts';
import type { ServerProcess } from '../lab/server-process.ts';

const rowsFew = 10_000;
const rowsFull = 5_000_000;
const rowsQuick = 500_000;
const limit = 20;
/** One request at a time, so that the time is that of the query, without queueing. */
const listsPerRound = 100;
/** The middle page scans all rows up to its offset. A few requests are enough. */
const middleListsPerRound = 10;

interface Shop {
  readonly till: ServerProcess;
  readonly rows: number;
}

/** How much slower lists get with more rows. */
export const lists: Scenario = {
  names: ['list_page1_growth', 'list_last_page_growth', 'list_middle_page_growth', 'list_customer_growth'],
  async run(lab) {
    const rowsMany = lab.amount(rowsFull, rowsQuick);
    await using fewDatabase = await lab.database('till');
    await using manyDatabase = await lab.database('till');
    await seed(fewDatabase, rowsFew);
    await seed(manyDatabase, rowsMany);
    await using fewTill = await lab.startTill(fewDatabase);
    await using manyTill = await lab.startTill(manyDatabase);
    const few = { till: fewTill, rows: rowsFew };
    const many = { till: manyTill, rows: rowsMany };
    const compare = async (name: string, atMost: number, count: number, path: (rows: number) => string) => {
      const list = ({ till, rows }: Shop) => readList(lab, till, path(rows), count);
      for (const shop of [few, many]) await list(shop);
      const runs = await takeTurns(lab.scale.rounds, { many: () => list(many), few: () => list(few) });
      return {
        name,
        value: runs.many.p50Ms,
        unit: 'ms p50',
        baseline: runs.few.p50Ms,
        cpu: runs.many,
        baselineCpu: runs.few,
        goal: { atMost },
        note: `${rowsMany.toLocaleString('en-US')} rows against ${rowsFew.toLocaleString('en-US')}`,
      };
    };
    const page = (number: number) => `/api/v1/payments?limit=${limit}&page=${number}`;
    const pages = (rows: number) => Math.ceil(rows / limit);
    return [
      await compare('list_page1_growth', 1.5, listsPerRound, () => page(1)),
      await compare('list_last_page_growth', 2, listsPerRound, (rows) => page(pages(rows))),
      await compare('list_middle_page_growth', 100, middleListsPerRound, (rows) => page(pages(rows) / 2)),
      await compare(
        'list_customer_growth',
        1.5,
        listsPerRound,
        (rows) => `${page(1)}&customerId=${customerOf(rows / paymentsPerCustomer / 2)}`,
      ),
    ];
  },
};

function readList(lab: Lab, till: ServerProcess, path: string, count: number) {
  const target = { url: till.url, connections: 1, requests: { kind: 'same' as const, path, count } };
  return lab.load({ targets: [target], expected: [200] }, [till.pid]);
}

/** Seeds the rows, and checks that the counter behind `total` was updated. */
async function seed(database: BenchDatabase, rows: number): Promise<void> {
  await seedPayments(database, rows);
  const [counted] = await database.query<{ total: number }>(
    `select sum(count)::int as total from till.list_counts where resource = 'payments'`,
  );
  if (counted?.total !== rows) throw new Error(`${counted?.total} of ${rows} payments are counted`);
}
