import assert from 'node:assert/strict';
import type { Client } from './client.ts';

/** The response to a GET below /api/v1, without what differs every time. */
export interface RecordedResponse {
  readonly path: string;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const lists = ['customers', 'payments', 'subscriptions', 'invoices'] as const;
const pageSize = 100;
/** Far more than any test creates. */
const pagesMax = 1_000;

/** Records the response for every id that a client can know, deleted customers included, and for every list. */
export async function recordResponses(
  client: Client,
  deletedCustomerIds: readonly string[],
): Promise<readonly RecordedResponse[]> {
  const paths = deletedCustomerIds.map((id) => `/customers/${id}`);
  for (const list of lists) {
    const ids = await listIds(client, list, paths);
    paths.push(...ids.map((id) => `/${list}/${id}`));
    if (list === 'payments') paths.push(...ids.map((id) => `/payments/${id}/refunds`));
  }
  const plans = await client.get<readonly { readonly id: string }[]>('/plans');
  paths.push(...plans.map(({ id }) => `/plans/${id}`));
  return Promise.all(paths.map((path) => recordResponse(client, path)));
}

/** The ids of all pages. The paths of the pages are added to `paths`. */
async function listIds(client: Client, list: string, paths: string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let page = 1; page <= pagesMax; page += 1) {
    const path = `/${list}?limit=${pageSize}&page=${page}`;
    const { data } = await client.get<{ readonly data: readonly { readonly id: string }[] }>(path);
    paths.push(path);
    ids.push(...data.map(({ id }) => id));
    if (data.length < pageSize) break;
  }
  return ids;
}

export async function recordResponse(client: Client, path: string): Promise<RecordedResponse> {
  const response = await client.call('GET', path);
  const body = JSON.parse(await response.text(), (name, value) =>
    name === 'updatedAt' || name === 'requestId' ? undefined : value,
  );
  return { path, status: response.status, body };
}

/** Every recorded response is still the same. */
export async function assertSameResponses(
  client: Client,
  recorded: readonly RecordedResponse[],
): Promise<void> {
  for (const response of recorded) assert.deepEqual(await recordResponse(client, response.path), response);
}
