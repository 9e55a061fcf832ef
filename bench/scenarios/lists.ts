import type { Lab } from '../lab/lab.ts';
import { describeShops, listShops } from '../lab/list-shops.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { customerOf, paymentsPerCustomer } from '../lab/seed-lists.ts';
import type { ServerProcess } from '../lab/server-process.ts';

const limit = 20;
/** One request at a time, so that the time is that of the query, without queueing. */
const listsPerRound = 100;
/** The middle page scans all rows up to its offset. A few requests are enough. */
const middleListsPerRound = 10;

interface Shop {
  readonly till: ServerProcess;
  readonly payments: number;
}

/** How much slower lists get with more rows. */
export const lists: Scenario = {
  names: ['list_page1_growth', 'list_last_page_growth', 'list_middle_page_growth', 'list_customer_growth'],
  async run(lab) {
    const shops = await listShops(lab);
    await using fewTill = await lab.startTill(shops.few.database);
    await using manyTill = await lab.startTill(shops.many.database);
    const few = { till: fewTill, payments: shops.few.payments };
    const many = { till: manyTill, payments: shops.many.payments };
    const compare = async (
      name: string,
      atMost: number,
      count: number,
      path: (payments: number) => string,
    ) => {
      const list = ({ till, payments }: Shop) => readList(lab, till, path(payments), count);
      for (const shop of [few, many]) await list(shop);
      const runs = await takeTurns(lab, { many: () => list(many), few: () => list(few) });
      return {
        name,
        value: runs.many.p50Ms,
        unit: 'ms p50',
        baseline: runs.few.p50Ms,
        cpu: runs.many,
        baselineCpu: runs.few,
        goal: { atMost },
        note: describeShops(shops),
      };
    };
    const page = (number: number) => `/api/v1/payments?limit=${limit}&page=${number}`;
    const pages = (payments: number) => Math.ceil(payments / limit);
    return [
      await compare('list_page1_growth', 1.5, listsPerRound, () => page(1)),
      await compare('list_last_page_growth', 2, listsPerRound, (payments) => page(pages(payments))),
      await compare('list_middle_page_growth', 100, middleListsPerRound, (payments) =>
        page(pages(payments) / 2),
      ),
      await compare(
        'list_customer_growth',
        1.5,
        listsPerRound,
        (payments) => `${page(1)}&customerId=${customerOf(payments / paymentsPerCustomer / 2)}`,
      ),
    ];
  },
};

function readList(lab: Lab, till: ServerProcess, path: string, count: number) {
  const target = { url: till.url, connections: 1, requests: { kind: 'same' as const, path, count } };
  return lab.load({ targets: [target], expected: [200] }, [till.pid]);
}
