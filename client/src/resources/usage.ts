import type { Who } from '../entitlements.ts';
import type { TillList } from '../list.ts';
import { cursorList } from '../list-sources.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import { newIdempotencyKey } from '../requests/connection.ts';
import type {
  ConsumedUsage,
  CursorQuery,
  Meter,
  MeterChange,
  MeterList,
  NewMeter,
  NewUsageEvent,
  UsageEvent,
  UsageEventList,
  UsageEventQuery,
  UsageTotals,
  UsageTotalsQuery,
} from '../types.ts';
import { UsageRecorder } from '../usage/usage-recorder.ts';

/** What is counted. */
export class Meters {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  create(meter: NewMeter, options?: WriteOptions): Promise<Meter> {
    return this.#api.post('/api/v1/meters', { body: meter }, options);
  }

  get(id: string, options?: RequestOptions): Promise<Meter> {
    return this.#api.get('/api/v1/meters/{id}', { params: { id } }, options);
  }

  update(id: string, change: MeterChange, options?: WriteOptions): Promise<Meter> {
    return this.#api.patch('/api/v1/meters/{id}', { params: { id }, body: change }, options);
  }

  /** Ends counting. What was counted can still be read. */
  archive(id: string, options?: WriteOptions): Promise<Meter> {
    return this.#api.post('/api/v1/meters/{id}/archive', { params: { id } }, options);
  }

  list(query: CursorQuery = {}, options?: RequestOptions): TillList<Meter, MeterList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/meters', { query: page }, options));
  }
}

/** Something that a customer used. */
export type UsageInput = Who & {
  /** The key of the meter. */
  readonly meter: string;
  /** Default: 1. */
  readonly quantity?: number | undefined;
  /**
   * Your own id of the usage. The same id with the same `at` counts once. Choose one that survives your process if
   * you may repeat the call after a crash. Default: a new id that begins with the time.
   */
  readonly id?: string | undefined;
  /** When it was used. Default: now. */
  readonly at?: string | Date | undefined;
};

/** What customers use. */
export class Usage {
  readonly #api: Api;
  readonly #recorder: UsageRecorder;

  constructor(api: Api) {
    this.#api = api;
    this.#recorder = new UsageRecorder((events, signal) =>
      api.post('/api/v1/usage', { body: { events: [...events] } }, { signal }),
    );
  }

  /**
   * Counts what a customer has used. Collects events for up to a second, and sends up to 1,000 together. Resolves when
   * Till has counted the event. Rejects with a `UsageRejectedError` if Till rejects it, and with a `UsageNotSentError`
   * if all attempts to send it failed, or `close` gave up. An invalid date is a `TypeError`.
   */
  async record(usage: UsageInput): Promise<void> {
    return this.#recorder.add(eventOf(usage));
  }

  /** Sends what waits, without waiting for more. */
  flush(): Promise<void> {
    return this.#recorder.flush();
  }

  /** Sends what waits, for at most 20 seconds, and accepts no more. Rejects if events could not be sent. */
  close(): Promise<void> {
    return this.#recorder.close();
  }

  /** Counts the quantity only if it fits into the limit: check `allowed`. */
  async consume(usage: UsageInput, options?: RequestOptions): Promise<ConsumedUsage> {
    return this.#api.post('/api/v1/usage/consume', { body: eventOf(usage) }, options);
  }

  /** What a customer has used on each day. */
  async totals(query: UsageTotalsQuery, options?: RequestOptions): Promise<UsageTotals['data']> {
    return (await this.#api.get('/api/v1/usage', { query }, options)).data;
  }

  /** The events of a customer, the latest first. */
  events(query: UsageEventQuery, options?: RequestOptions): TillList<UsageEvent, UsageEventList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/usage/events', { query: page }, options));
  }
}

/** The id and the time belong to the event, so that all attempts to send it have the same. */
function eventOf(usage: UsageInput): NewUsageEvent {
  const { customerId, externalId, meter, id = newEventId(), at = new Date(), quantity = 1 } = usage;
  const who = {
    ...(customerId === undefined ? {} : { customerId }),
    ...(externalId === undefined ? {} : { externalId }),
  };
  return { ...who, meter, id, quantity, at: textOf(at) };
}

function textOf(at: string | Date): string {
  if (typeof at === 'string') return at;
  if (Number.isNaN(at.getTime())) throw new TypeError('`at` must be a valid date');
  return at.toISOString();
}

/** Begins with the time: the database stores ids in order at half the cost of random ones. */
function newEventId(): string {
  return `${Date.now().toString(16)}-${newIdempotencyKey()}`;
}
