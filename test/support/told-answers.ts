import assert from 'node:assert/strict';

/** A GET below /api/v1. */
export type Ask = (path: string) => Promise<Response>;

/** What a client was told: where, and the answer that it must get again. */
export interface Told {
  readonly path: string;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const lists = ['customers', 'payments', 'subscriptions', 'invoices'] as const;
const pageSize = 100;
/** Far more than any test makes. */
const pagesMax = 1_000;

/** The answer for every id that a client can have been told, deleted customers included, and for every list. */
export async function tellEverything(
  ask: Ask,
  deletedCustomerIds: readonly string[],
): Promise<readonly Told[]> {
  const paths = deletedCustomerIds.map((id) => `/customers/${id}`);
  for (const list of lists) {
    const ids = await idsOf(ask, list, paths);
    paths.push(...ids.map((id) => `/${list}/${id}`));
    if (list === 'payments') paths.push(...ids.map((id) => `/payments/${id}/refunds`));
  }
  const plans: readonly { id: string }[] = JSON.parse(await (await ask('/plans')).text());
  paths.push(...plans.map(({ id }) => `/plans/${id}`));
  return Promise.all(paths.map((path) => tell(ask, path)));
}

async function idsOf(ask: Ask, list: string, paths: string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let page = 1; page <= pagesMax; page += 1) {
    const path = `/${list}?limit=${pageSize}&page=${page}`;
    const { data }: { data: { id: string }[] } = JSON.parse(await (await ask(path)).text());
    paths.push(path);
    ids.push(...data.map(({ id }) => id));
    if (data.length < pageSize) break;
  }
  return ids;
}

/** An answer without what differs every time. */
export async function tell(ask: Ask, path: string): Promise<Told> {
  const response = await ask(path);
  const body = JSON.parse(await response.text(), (name, value) =>
    name === 'updatedAt' || name === 'requestId' ? undefined : value,
  );
  return { path, status: response.status, body };
}

export async function assertStillTold(ask: Ask, told: readonly Told[]): Promise<void> {
  for (const answer of told) assert.deepEqual(await tell(ask, answer.path), answer);
}
