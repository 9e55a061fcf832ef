import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withoutReferences } from '../../test/support/openapi.ts';
import { filterRequests, type ListDocument } from '../lab/filter-requests.ts';
import { type Lab, projectFolder } from '../lab/lab.ts';
import { describeShops, type ListShop, listShops } from '../lab/list-shops.ts';
import { median } from '../lab/numbers.ts';
import type { Scenario } from '../lab/scenario.ts';
import { billedSubscription, customerOf, paymentsPerCustomer, planOf } from '../lab/seed-lists.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { apiKey } from '../load/requests.ts';

const lists = ['/customers', '/payments', '/refunds', '/subscriptions', '/invoices', '/checkouts'];
/** How often each of hundreds of requests is sent. */
const timesFull = 9;
const timesQuick = 3;
const growthMax = 2;
/** Selects nearly all payments, so that its total is counted up to the cap. */
const cappedList = '/payments?status=succeeded';
const shownMax = 5;
const unknownId = '00000000-0000-7000-9000-ffffffffffff';

/** The values to try: of most rows, of few, of old ones only, and of none. */
function valuesFor({ rows, payments }: ListShop): Readonly<Record<string, readonly string[]>> {
  const longAgo = new Date(Date.now() - 365 * 86_400_000).toISOString();
  return {
    customerId: [customerOf(payments / paymentsPerCustomer / 2), unknownId],
    currency: ['eur', 'jpy', 'xxx'],
    failureCode: ['insufficient_funds', 'unknown'],
    disputeStatus: ['won', 'needs_response'],
    amountMin: ['1', '1000000'],
    amountMax: ['1', '100000'],
    subscriptionId: [billedSubscription, unknownId],
    invoiceId: [unknownId],
    planId: [planOf(1), planOf(0)],
    addOnPlanId: [planOf(2), unknownId],
    createdAfter: [longAgo],
    createdBefore: [longAgo],
    number: ['unknown'],
    externalId: ['unknown'],
    email: [`${rows / 2}@example.com`, 'unknown@example.com'],
    q: [`${rows / 2}@example`, 'unknown'],
  };
}

/**
 * How much slower each filter and each pair of filters gets with more rows. The filters are those of the OpenAPI
 * document.
 */
export const filtersGrowth: Scenario = {
  names: ['filters_growth'],
  async run(lab) {
    const shops = await listShops(lab);
    const openapi: ListDocument = JSON.parse(await readFile(join(projectFolder, 'openapi.json'), 'utf8'));
    const document = withoutReferences(openapi);
    await using few = await lab.startTill(shops.few.database);
    await using many = await lab.startTill(shops.many.database);
    const [fewRequests, manyRequests] = [shops.few, shops.many].map((shop) =>
      filterRequests(document, lists, valuesFor(shop)),
    );
    const cappedMs = await timeOf(lab, few, cappedList);
    const compared: { readonly request: string; readonly ms: number; readonly baselineMs: number }[] = [];
    for (const [index, request] of (manyRequests ?? []).entries()) {
      const fewMs = await timeOf(lab, few, fewRequests?.[index] ?? request);
      // A filter that selects a share of the rows counts more of them in a larger table, up to the cap.
      compared.push({ request, ms: await timeOf(lab, many, request), baselineMs: Math.max(fewMs, cappedMs) });
    }
    compared.sort((one, other) => other.ms / other.baselineMs - one.ms / one.baselineMs);
    const [worst] = compared;
    if (worst === undefined) throw new Error('no list has filters');
    const shown = compared
      .slice(0, shownMax)
      .map(({ request, ms, baselineMs }) => `${request} ${(ms / baselineMs).toFixed(2)}`);
    return [
      {
        name: 'filters_growth',
        value: worst.ms,
        unit: 'ms p50',
        baseline: worst.baselineMs,
        goal: { atMost: growthMax },
        note: `${compared.length} requests, ${describeShops(shops)}: ${shown.join('; ')}`,
      },
    ];
  },
};

/** The median of a few requests, one at a time. The first one only warms up. */
async function timeOf(lab: Lab, { url }: ServerProcess, path: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count <= lab.amount(timesFull, timesQuick); count += 1) {
    const startMs = performance.now();
    const response = await fetch(`${url}/api/v1${path}`, { headers: { 'x-api-key': apiKey } });
    await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    if (count > 0) times.push(performance.now() - startMs);
  }
  return median(times);
}
