import { randomUUID } from 'node:crypto';
import { type Client, readJson } from './client.ts';

export interface MeterBody {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly resets: string;
  readonly active: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface RecordedBody {
  readonly recorded: number;
  readonly duplicates: number;
  readonly rejected: readonly { readonly index: number; readonly id: string; readonly code: string }[];
}

export interface ConsumedBody {
  readonly allowed: boolean;
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetsAt: string;
}

export interface MeterUsageBody {
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly periodStart: string;
  readonly periodEnd: string;
}

/** An event of usage as applications send it. */
export interface UsageBody {
  readonly id: string;
  readonly customerId?: string;
  readonly externalId?: string;
  readonly meter: string;
  readonly quantity?: number;
  readonly at: string;
}

export async function createMeter(
  { call }: Client,
  values: { readonly key?: string; readonly name?: string; readonly resets?: 'period' | 'month' } = {},
): Promise<MeterBody> {
  const key = values.key ?? `m${randomUUID()}`;
  return readJson(
    await call('POST', '/meters', { name: 'API calls', resets: 'period', ...values, key }),
    201,
  );
}

/** An event of now, with an id of its own. */
export function usageOf(
  { id: customerId }: { readonly id: string },
  { key: meter }: { readonly key: string },
  values: Partial<UsageBody> = {},
): UsageBody {
  return { id: randomUUID(), customerId, meter, at: new Date().toISOString(), ...values };
}

export function recordUsage({ post }: Client, ...events: readonly UsageBody[]): Promise<RecordedBody> {
  return post('/usage', { events });
}

export function consumeUsage({ post }: Client, event: UsageBody): Promise<ConsumedBody> {
  return post('/usage/consume', event);
}

/** What the entitlements show of a meter. */
export async function readUsage(
  { get }: Client,
  { id }: { readonly id: string },
  { key }: { readonly key: string },
): Promise<MeterUsageBody | undefined> {
  const { usage } = await get<{ readonly usage: Readonly<Record<string, MeterUsageBody>> }>(
    `/customers/${id}/entitlements`,
  );
  return usage[key];
}
