import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Sql } from '../backend.ts';
import type { Client } from '../client.ts';
import { assertHistoryExact, assertOverviewExact } from './overview.ts';

export interface StoredEventRow {
  readonly position: number;
  readonly type: string;
  readonly objectType: string;
  readonly objectId: string;
  readonly customerId: string | null;
  readonly data: Body;
  readonly previous: Body;
  readonly cause: {
    readonly kind: string;
    readonly keyName: string | null;
    readonly person: string | null;
    readonly requestId: string | null;
    readonly processorEventId: string | null;
  };
}

type Body = Readonly<Record<string, unknown>>;

/** All events, or those of one object, in their order. */
export function readEvents(sql: Sql, objectId?: string): Promise<readonly StoredEventRow[]> {
  return sql(
    `select position, type, object_type as "objectType", object_id as "objectId", customer_id as "customerId",
       data, previous, cause from till.events where $1::uuid is null or object_id = $1 order by position`,
    [objectId ?? null],
  );
}

/**
 * The events contain all that the API shows: every object, rebuilt from its events, is as the API shows it. Each event
 * follows from the one before it, and each changes something. A subscription that entitles from the beginning says so
 * in an event of its own. A released authorisation has no events. The numbers that are counted from them are right.
 */
export async function assertEventsComplete(client: Pick<Client, 'get'>, sql: Sql): Promise<void> {
  const deleted = new Set(
    (await sql<{ id: string }>('select id from till.customers where deleted_at is not null')).map(
      ({ id }) => id,
    ),
  );
  const shown = await readShown(client);
  const events = await readEvents(sql);
  const byObject = Map.groupBy(events, ({ objectId }) => objectId);
  const wrong: object[] = [];
  for (const [id, own] of byObject) {
    const isErased = own.some(({ customerId }) => customerId !== null && deleted.has(customerId));
    wrong.push(...brokenLinks(own, isErased));
    const last = own.at(-1);
    const isDeleted = last?.type === 'customer.deleted';
    if (isDeleted !== (last?.objectType === 'customer' && deleted.has(id)))
      wrong.push({ id, reason: 'a deleted customer and its last event', last: last?.type });
    if (!isDeleted && !isDeepStrictEqual(last?.data, shown.get(id)))
      wrong.push({ id, reason: 'the last event is not what the API shows', last, shown: shown.get(id) });
  }
  const inGrace = new Set(
    (await sql<{ id: string }>('select subscription_id as id from till.grace_periods')).map(({ id }) => id),
  );
  for (const [id, body] of shown) {
    if (!byObject.has(id)) wrong.push({ id, reason: 'it has no event', shown: body });
    const { status, entitled } = byObject.get(id)?.at(-1)?.data ?? {};
    if (inGrace.has(id) !== (status === 'past_due' && entitled === true))
      wrong.push({ id, reason: 'its grace period and its last event', shown: body });
  }
  assert.deepEqual(
    wrong.slice(0, 3),
    [],
    `${wrong.length} objects of ${shown.size} are not as their events show`,
  );
  await assertOverviewExact(client, sql);
  await assertHistoryExact(client, sql);
}

/** Personal data that no event of a deleted customer, and of what belongs to it, shows in the end. */
const personalFields = ['email', 'name', 'phone', 'externalId', 'metadata'];

function brokenLinks(events: readonly StoredEventRow[], isErased: boolean): readonly object[] {
  const visible = (body: Body) =>
    isErased
      ? Object.fromEntries(Object.entries(body).filter(([field]) => !personalFields.includes(field)))
      : body;
  return events.flatMap((event, index) => {
    const { type, data, previous } = event;
    const before = events[index - 1];
    const isCreation = type.endsWith('.created');
    if (
      Number(data['amountRefunded'] ?? 0) > 0 &&
      !['succeeded', 'refunded'].includes(String(data['status']))
    )
      return [{ ...event, reason: 'money that was not received is refunded' }];
    if (!type.startsWith(`${event.objectType}.`))
      return [{ ...event, reason: 'the type is of another object' }];
    if (before === undefined) {
      if (!isCreation || !isDeepStrictEqual(previous, {}))
        return [{ ...event, reason: 'the first event is not the creation' }];
      return beginsEntitled(event) && events.length === 1
        ? [{ ...event, reason: 'the event of a beginning entitlement is missing' }]
        : [];
    }
    if (isCreation) return [{ ...event, reason: 'an object was created twice' }];
    if (beginsEntitled(before)) {
      const isAnnounced =
        type === 'subscription.entitled' &&
        isDeepStrictEqual(previous, { entitled: false }) &&
        isDeepStrictEqual(data, before.data);
      return isAnnounced ? [] : [{ ...event, reason: 'the event of a beginning entitlement is missing' }];
    }
    const rebuilt = visible({ ...data, ...previous });
    if (!isDeepStrictEqual(rebuilt, visible(before.data)))
      return [{ ...event, reason: 'it does not follow from the event before', before: before.data }];
    const isChange = isErased || !isDeepStrictEqual(data, before.data);
    const isMinimal = Object.entries(previous).every(
      ([field, value]) => !isDeepStrictEqual(data[field], value),
    );
    return isChange && isMinimal ? [] : [{ ...event, reason: 'nothing has changed', before: before.data }];
  });
}

/** The next event of such a subscription announces the entitlement, and changes nothing else. */
function beginsEntitled({ type, data }: StoredEventRow): boolean {
  return type === 'subscription.created' && data['entitled'] === true;
}

interface Page {
  readonly data: readonly Body[];
  readonly nextCursor: string | null;
}

/** Everything that the API shows, by id. */
async function readShown(client: Pick<Client, 'get'>): Promise<ReadonlyMap<string, Body>> {
  const shown = new Map<string, Body>();
  const add = (body: Body) => shown.set(String(body['id']), body);
  const readAll = async (path: string) => {
    let cursor: string | null = null;
    do {
      const separator = path.includes('?') ? '&' : '?';
      const page: Page = await client.get(
        `${path}${separator}limit=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      for (const body of page.data) if (body['kind'] !== 'release') add(body);
      cursor = page.nextCursor;
    } while (cursor !== null);
  };
  for (const path of ['/customers', '/payments?source=all', '/subscriptions', '/invoices', '/checkouts'])
    await readAll(path);
  for (const plan of await client.get<readonly Body[]>('/plans')) add(plan);
  for (const { id, amountReceived, status } of [...shown.values()])
    if (amountReceived !== undefined && (Number(amountReceived) > 0 || status === 'canceled'))
      await readAll(`/payments/${id}/refunds`);
  return shown;
}
