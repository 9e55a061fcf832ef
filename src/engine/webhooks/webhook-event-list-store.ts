import type { ListPage, PageRequest } from '#core/model/list-request.ts';
import { type WebhookEvent, type WebhookEventState, webhookEventStates } from '#core/model/webhook-event.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { totalMax } from '../mirrors/row-window.ts';

export interface EventFilter {
  readonly state: WebhookEventState | undefined;
  readonly type: string | undefined;
  readonly objectId: string | undefined;
}

export type EventPage = Omit<ListPage<WebhookEvent>, 'nextCursor'>;

/** The select list of an event, with the names of the fields. */
export const webhookEventColumns = `id, type, object_id as "objectId", created_at as "createdAt",
  api_version as "apiVersion", payload, state, attempts, next_try_at as "nextTryAt", last_error as "lastError",
  received_at as "receivedAt", processed_at as "processedAt"`;

/** Newest first, by the processor's time. The queries stay fast with any number of events. */
export async function listEvents(
  db: Queryable,
  filter: EventFilter,
  { page, limit }: PageRequest,
): Promise<EventPage> {
  const values = [filter.type, filter.objectId].filter((value) => value !== undefined);
  const conditions = toConditions(filter);
  const [limitAt, offsetAt] = [`$${values.length + 1}::bigint`, `$${values.length + 2}::bigint`];
  // Without an order, so that PostgreSQL can use the smallest sufficient index alone.
  const matches = union(conditions, `limit ${totalMax + 1}`);
  const newestFirst = 'order by created_at desc, id desc';
  const newest = union(conditions, `${newestFirst} limit ${limitAt} + ${offsetAt}`);
  const [[count], data] = await Promise.all([
    db.query<{ total: number }>(
      `select count(*) as total from (select from (${matches}) as found limit ${totalMax + 1}) as matches`,
      values,
    ),
    db.query<WebhookEvent>(
      `select ${webhookEventColumns} from (${newest}) as newest ${newestFirst} limit ${limitAt} offset ${offsetAt}`,
      [...values, limit, (page - 1) * limit],
    ),
  ]);
  const total = count?.total ?? 0;
  return { data, total: Math.min(total, totalMax), totalCapped: total > totalMax, page, limit };
}

function union(conditions: readonly string[], end: string): string {
  const searches = conditions.map((condition) => `(select * from till.webhook_events ${condition} ${end})`);
  return searches.join(' union all ');
}

/** Conditions that have one index each. A union combines their results. */
function toConditions({ state, type, objectId }: EventFilter) {
  const given = [
    ...(type === undefined ? [] : ['type = $1']),
    ...(objectId === undefined ? [] : [`object_id = $${type === undefined ? 1 : 2}`]),
    ...(state === undefined ? [] : [`state = '${state}'`]),
  ];
  const where = (...conditions: readonly string[]) =>
    conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  if (state !== undefined || objectId !== undefined) return [where(...given)];
  // The indexes are ordered by time only within a state, and the index by type excludes pending events.
  return webhookEventStates.map((each) => where(...given, `state = '${each}'`));
}
