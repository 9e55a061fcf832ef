import type { Static } from 'typebox';
import type { WebhookBacklog } from '#core/model/webhook-event.ts';
import { dayOf } from '#core/platform/day.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import { type IdCursorPage, pageById, type WalkRequest } from '#engine/mirrors/id-cursor.ts';
import { encodeCursor } from '#engine/mirrors/list-cursor.ts';
import { readCursor } from '#engine/mirrors/list-page.ts';
import { type CurrentSubscriber, type MoveName, metricsOfMoves, type StoredMove } from './move.ts';
import { MoveStore } from './move-store.ts';
import { type OverviewFollower, overviewPending } from './overview-follower.ts';
import { addCounts, numbersOf } from './overview-numbers.ts';
import { rangeBefore, rangeOf } from './overview-range.ts';
import type { Overview, OverviewQuery } from './overview-schema.ts';
import { type CellRange, type OverviewProgress, OverviewStore } from './overview-store.ts';

/** Cursors have microseconds. */
const microsPerMs = 1_000n;

interface MovesRequest extends WalkRequest {
  readonly move: MoveName;
  readonly currency: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The numbers of the console's first page. */
export class OverviewService {
  readonly #context: Platform;
  readonly #store = new OverviewStore();
  readonly #moves = new MoveStore();
  readonly #follower: OverviewFollower;
  readonly #webhookEvents: { backlog(): Promise<WebhookBacklog> };
  readonly #timeZone: TimeZone;

  constructor(
    context: Platform,
    follower: OverviewFollower,
    webhookEvents: { backlog(): Promise<WebhookBacklog> },
    timeZone: TimeZone,
  ) {
    this.#context = context;
    this.#follower = follower;
    this.#webhookEvents = webhookEvents;
    this.#timeZone = timeZone;
  }

  async read({
    currency,
    interval = 'day',
    compare,
    ...days
  }: Static<typeof OverviewQuery>): Promise<Overview> {
    const { database, clock } = this.#context;
    const requestedAt = clock.now();
    const today = this.#timeZone.dayOf(requestedAt.getTime());
    const range = rangeOf(days, today);
    const previous = compare === 'previous' ? rangeBefore(range) : undefined;
    const isCurrent = await this.#follower.catchUp();
    const wanted = { from: (previous ?? range).from, to: range.to, currency };
    const [{ progress, cells }, webhooks] = await Promise.all([
      // The numbers must include what has just been counted.
      database.read((db) => this.#readNumbers(db, wanted), { seesOwnCommits: true }),
      this.#webhookEvents.backlog(),
    ]);
    if (!this.#follower.isCounted(progress)) throw overviewPending();
    const { since, asOf } = progress;
    const currencies = numbersOf(cells, { range, previous, interval, currency, since, today });
    return {
      ...{ ...range, interval, timeZone: this.#timeZone.name },
      startsAt: new Date(this.#timeZone.startOf(range.from)).toISOString(),
      endsAt: new Date(this.#timeZone.endOf(range.to)).toISOString(),
      currency: currency ?? null,
      asOf: (isCurrent ? requestedAt : asOf).toISOString(),
      isCurrent,
      subscriptionsSince: since,
      movesSince: since,
      subscriptions: addCounts(currencies),
      currencies,
      webhooks,
    };
  }

  async #readNumbers(db: Queryable, range: CellRange) {
    return { progress: await this.#store.progress(db), cells: await this.#store.read(db, range) };
  }

  /** The changes that one number adds up, newest first. */
  async listMoves({ cursor, limit, ...request }: MovesRequest): Promise<IdCursorPage<StoredMove>> {
    const { database } = this.#context;
    const query = `overview-moves ${JSON.stringify(request)}`;
    const place = cursor === undefined ? undefined : readCursor(cursor, query);
    const { since } = await this.#progress();
    const { from, to } = rangeOf(request, this.#today());
    const rows = await this.#moves.list(
      database,
      {
        ...{ metric: metricsOfMoves[request.move], currency: request.currency },
        // Days before it can have moves that were counted in another time zone. No number includes them.
        ...{ from: from < since ? since : from, to },
      },
      place && { day: dayOf(Number(place.createdAt / microsPerMs)), id: place.id },
      // One row more than the page has shows whether there is a next page.
      limit + 1,
    );
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    if (last === undefined) return { data: rows, nextCursor: null };
    const position = {
      ...{ createdAt: BigInt(Date.parse(last.day)) * microsPerMs, id: last.id },
      page: (place?.page ?? 1) + 1,
    };
    return { data: rows.slice(0, limit), nextCursor: encodeCursor(position, query) };
  }

  /** The customers whose subscriptions charge something in a month now, newest first. */
  async listSubscribers(currency: string, page: WalkRequest): Promise<IdCursorPage<CurrentSubscriber>> {
    const { database } = this.#context;
    await this.#progress();
    return pageById(`overview-subscribers ${currency}`, page, (before, count) =>
      this.#store.listSubscribers(database, currency, before, count),
    );
  }

  /** Counts what is committed now. */
  async #progress(): Promise<OverviewProgress> {
    const { database } = this.#context;
    await this.#follower.catchUp();
    const progress = await this.#store.progress(database);
    if (!this.#follower.isCounted(progress)) throw overviewPending();
    return progress;
  }

  #today(): string {
    const { clock } = this.#context;
    return this.#timeZone.dayOf(clock.now().getTime());
  }
}
