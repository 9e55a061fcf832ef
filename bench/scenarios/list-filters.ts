import type { Lab, LoadRun } from '../lab/lab.ts';
import { describeShops, type ListShops, listShops } from '../lab/list-shops.ts';
import type { Finding } from '../lab/report.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import {
  billedSubscription,
  customerOf,
  type ListSizes,
  paymentsPerCustomer,
  planOf,
} from '../lab/seed-lists.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { apiKey } from '../load/requests.ts';

/** One request at a time, so that the time is that of the query, without queueing. */
const listsFull = 50;
const listsQuick = 20;
const growthMax = 1.5;

/** The lists to measure. Nine in ten subscriptions have the plan, so that both totals are near the cap. */
const filters = ({ rows, payments }: ListSizes) => [
  '/payments?status=succeeded',
  `/payments?createdBefore=${new Date(Date.now() - 365 * 86_400_000).toISOString()}`,
  `/payments?status=canceled&customerId=${customerOf(payments / paymentsPerCustomer / 2)}`,
  '/subscriptions?status=active',
  `/subscriptions?planId=${planOf(1)}`,
  `/subscriptions?planId=${planOf(1)}&status=active`,
  `/subscriptions?addOnPlanId=${planOf(2)}`,
  `/subscriptions?addOnPlanId=${planOf(0)}`,
  '/invoices?status=paid',
  `/invoices?subscriptionId=${billedSubscription}`,
  `/customers?email=${rows / 2}@EXAMPLE.com`,
];

/** Lists to read by cursor. */
const walks = ['/payments?', '/payments?status=succeeded&', `/subscriptions?planId=${planOf(1)}&`];

/** How much slower filters and cursors get with more rows. */
export const listFilters: Scenario = {
  names: ['list_filter_growth', 'list_cursor_growth'],
  async run(lab) {
    const shops = await listShops(lab);
    await using few = await lab.startTill(shops.few.database);
    await using many = await lab.startTill(shops.many.database);
    const filtered: Comparison[] = [];
    const fewPaths = filters(shops.few);
    for (const [index, path] of filters(shops.many).entries())
      filtered.push(
        await compare(lab, path, { till: few, path: fewPaths[index] ?? path }, { till: many, path }),
      );
    const walked: Comparison[] = [];
    for (const path of walks)
      walked.push(
        await compare(
          lab,
          `${path}cursor=…`,
          { till: few, path: await middleOf(few, path, shops.few.payments) },
          { till: many, path: await middleOf(many, path, shops.many.payments) },
        ),
      );
    return [toFinding('list_filter_growth', filtered, shops), toFinding('list_cursor_growth', walked, shops)];
  },
};

interface Comparison {
  readonly what: string;
  readonly few: LoadRun;
  readonly many: LoadRun;
}

interface MeasuredList {
  readonly till: ServerProcess;
  readonly path: string;
}

async function compare(lab: Lab, what: string, few: MeasuredList, many: MeasuredList): Promise<Comparison> {
  const read = ({ till, path }: MeasuredList) => {
    const requests = {
      kind: 'same' as const,
      path: `/api/v1${path}`,
      count: lab.amount(listsFull, listsQuick),
    };
    return lab.load({ targets: [{ url: till.url, connections: 1, requests }], expected: [200] }, [till.pid]);
  };
  for (const target of [few, many]) await read(target);
  const runs = await takeTurns(lab, { many: () => read(many), few: () => read(few) });
  return { what, ...runs };
}

/** The list from its middle on, by the cursor of the page before. */
async function middleOf(till: ServerProcess, path: string, payments: number): Promise<string> {
  // A filter may select only some of the rows. Its total is capped, so its middle is assumed to be near the start.
  const page = path.includes('=') ? 100 : Math.floor(payments / 20 / 2);
  const response = await fetch(`${till.url}/api/v1${path}page=${page}`, { headers: { 'x-api-key': apiKey } });
  const { nextCursor } = (await response.json()) as { readonly nextCursor: string | null };
  if (nextCursor === null) throw new Error(`${path} ends before page ${page}`);
  return `${path}cursor=${nextCursor}`;
}

function toFinding(name: string, comparisons: readonly Comparison[], shops: ListShops): Finding {
  const growth = ({ few, many }: Comparison) => many.p50Ms / few.p50Ms;
  const [worst] = [...comparisons].sort((one, other) => growth(other) - growth(one));
  if (worst === undefined) throw new Error(`${name} compared nothing`);
  const all = comparisons.map((one) => `${one.what} ${growth(one).toFixed(2)}`).join('; ');
  return {
    name,
    value: worst.many.p50Ms,
    unit: 'ms p50',
    baseline: worst.few.p50Ms,
    cpu: worst.many,
    baselineCpu: worst.few,
    goal: { atMost: growthMax },
    note: `${describeShops(shops)}: ${all}`,
  };
}
