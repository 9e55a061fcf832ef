import { Failure, invalidRequest } from '#core/errors.ts';
import type { ProcessorClock } from '#core/platform/clock.ts';
import { dayOf } from '#core/platform/day.ts';
import type { Platform } from '#core/platform/platform.ts';
import { decodeCursor, encodeCursor, type ListPosition } from '#engine/mirrors/list-cursor.ts';
import { unknownCursor } from '#engine/mirrors/list-page.ts';
import type { CustomerTerms, EntitlementService } from '../subscriptions/entitlements/entitlement-service.ts';
import { MeterStore } from './meter-store.ts';
import { type DayTotal, type ListedUsage, UsageReadStore } from './usage-read-store.ts';

/** A leap year. Each day adds up its events, of which a busy customer may have many. */
export const daysMax = 366;
export const daysDefault = 30;
const dayMs = 86_400_000;
/** The earliest day that can be sent. */
const firstDay = '0001-01-01';

interface DayQuery {
  readonly customerId: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** `to` is exclusive. */
interface Days {
  readonly from: string;
  readonly to: string;
}

interface EventQuery extends DayQuery {
  readonly meter?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

interface UsageEvent extends Omit<ListedUsage, 'meterId' | 'atMicros' | 'place'> {
  /** The key of the meter. */
  readonly meter: string;
}

/** Reads the usage of a customer. */
export class UsageReading {
  readonly #context: Platform;
  readonly #store = new UsageReadStore();
  readonly #meters = new MeterStore();
  readonly #entitlements: EntitlementService;
  readonly #processorClock: ProcessorClock;

  constructor(context: Platform, entitlements: EntitlementService, processorClock: ProcessorClock) {
    this.#context = context;
    this.#entitlements = entitlements;
    this.#processorClock = processorClock;
  }

  /** The sums of days, in order, without days that have no events. */
  async totals({ meter, ...query }: DayQuery & { readonly meter: string }): Promise<readonly DayTotal[]> {
    const { database } = this.#context;
    const customer = await this.#findCustomer(query.customerId);
    const meterId = await this.#findMeterId(meter);
    return this.#store.totals(database, {
      customerId: customer.customerId,
      meterId,
      ...daysOf(query, await this.#nowMs()),
    });
  }

  /** Events by their time, the latest first. */
  async list(query: EventQuery): Promise<{ data: readonly UsageEvent[]; nextCursor: string | null }> {
    const { database } = this.#context;
    const { customerId } = await this.#findCustomer(query.customerId);
    const meterId = query.meter === undefined ? null : await this.#findMeterId(query.meter);
    const listOf = ({ from, to }: Days) => JSON.stringify(['usage events', customerId, meterId, from, to]);
    const { days, position } = placeOf(query, await this.#nowMs(), listOf);
    const { limit } = query;
    // One row more than the page has shows whether there is a next page.
    const rows = await this.#store.list(database, {
      customerId,
      meterId,
      ...days,
      position,
      limit: limit + 1,
    });
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const keys = await this.#meters.findKeys(database, [...new Set(rows.map((row) => row.meterId))]);
    return {
      data: rows
        .slice(0, limit)
        .map(({ meterId, atMicros: _, place: __, ...row }) => ({ ...row, meter: keys.get(meterId) ?? '' })),
      nextCursor:
        last === undefined
          ? null
          : encodeCursor(
              { createdAt: BigInt(last.atMicros), id: last.place, page: (position?.page ?? 1) + 1 },
              listOf(days),
            ),
    };
  }

  async #findCustomer(id: string): Promise<CustomerTerms> {
    const [found] = await this.#entitlements.findTerms({ ids: [id], externalIds: [] });
    if (found === undefined) throw new Failure('not_found', 'No customer has this id. Check customerId.');
    return found;
  }

  /** Archived meters can be read too. */
  async #findMeterId(key: string): Promise<string> {
    const { database } = this.#context;
    const meter = await this.#meters.findByKey(database, key);
    if (meter === undefined) throw new Failure('not_found', 'No meter has this key. Check meter.');
    return meter.id;
  }

  async #nowMs(): Promise<number> {
    return (await this.#processorClock.read()).getTime();
  }
}

/** The days of the query, and where its page begins. After midnight, a cursor keeps the days of its first page. */
function placeOf(
  query: EventQuery,
  nowMs: number,
  listOf: (days: Days) => string,
): { readonly days: Days; readonly position?: ListPosition } {
  if (query.cursor === undefined) return { days: daysOf(query, nowMs) };
  for (const atMs of [nowMs, nowMs - dayMs]) {
    const days = daysOf(query, atMs);
    const position = decodeCursor(query.cursor, listOf(days));
    if (position !== undefined) return { days, position };
  }
  throw unknownCursor();
}

/** By default, up to today. */
function daysOf({ from, to }: Pick<DayQuery, 'from' | 'to'>, nowMs: number): Days {
  const end = to ?? dayOf(nowMs + dayMs);
  const startByDefault = dayOf(Date.parse(end) - daysDefault * dayMs);
  const start = from ?? (startByDefault < firstDay ? firstDay : startByDefault);
  if (start > end) throw invalidRequest('query.from', `must not be after ${end}`);
  if (Date.parse(end) - Date.parse(start) > daysMax * dayMs)
    throw invalidRequest('query.from', `must be at most ${daysMax} days before ${end}`);
  return { from: start, to: end };
}
