import type { Stripe } from 'stripe';
import { Failure } from '#core/errors.ts';
import type { AsOf } from '#core/model/facts.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { LeftOut, ListingStart, Pages } from '../../port/pages.ts';
import type { AdapterContext } from './adapter-context.ts';
import type { ProcessorOperation } from './operations.ts';
import { WireObject } from './wire-object.ts';

/** The processor's largest page. */
const pageSize = 100;

/** A hundred million objects, more than any account holds. A listing that does not end is a bug. */
export const resyncPagesMax = 1_000_000;

/**
 * Ten thousand objects: more than one customer has in a day, and more than the processor's search lags behind. A longer
 * listing is a sign of another problem, and must not use up the processor's rate limit.
 */
const lookUpPagesMax = 100;

/** The allowed clock skew. It is generous, because listing too much costs only a page. */
const clockSkewMsMax = 300_000;

interface PageParams {
  readonly limit: number;
  readonly starting_after?: string;
}

/** Maps an item, and the time span in which its page was true, to the result. */
type MapItem<T> = (value: unknown, asOf: AsOf) => T;

export type Fetch = (page: PageParams, options: Stripe.RequestOptions) => Promise<unknown>;

interface Listed<Filter> {
  list(params?: Filter, options?: Stripe.RequestOptions): Promise<unknown>;
}

/** Fetches the pages of a list that has this filter. */
export function fetchFrom<Filter extends object>(resource: Listed<Filter>, filter: NoInfer<Filter>): Fetch {
  return (page, options) => resource.list({ ...filter, ...page }, options);
}

/**
 * The pages of a listing, each with the id after which the next one starts. Callers rely on a complete listing, so it
 * fails after `pagesMax` pages, and for an object that `map` cannot read.
 */
export async function* walkPages<T>(
  { call }: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  walk: {
    readonly pagesMax: number;
    readonly map: MapItem<T>;
    /** The id to start after. Null for the beginning. */
    readonly after: string | null;
  },
): AsyncGenerator<ListingPage<T>> {
  let { after } = walk;
  for (let pages = 0; pages < walk.pagesMax; pages += 1) {
    const request = { limit: pageSize, ...(after === null ? {} : { starting_after: after }) };
    const page = await call.read(operation, {
      send: (options) => fetch(request, options),
      take: (response, asOf) => takePage(response, (value) => walk.map(value, asOf)),
    });
    yield page;
    if (page.next === null) return;
    after = page.next;
  }
  throw new Failure(
    'processor_bad_answer',
    `The processor's list (${operation}) does not end within ${walk.pagesMax} pages. Check PROCESSOR_API_BASE.`,
    { effect: 'none' },
  );
}

/** All items of a listing. */
export async function fetchAll<T>(
  context: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  map: MapItem<T>,
  pagesMax = lookUpPagesMax,
): Promise<readonly T[]> {
  const pages = walkPages(context, operation, fetch, { pagesMax, map, after: null });
  return (await Array.fromAsync(pages)).flatMap(({ items }) => items);
}

/** The first item that `map` does not map to null. */
export async function findFirst<T>(
  context: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  map: MapItem<T | null>,
): Promise<T | null> {
  const walk = { pagesMax: lookUpPagesMax, map, after: null };
  for await (const { items } of walkPages(context, operation, fetch, walk)) {
    const found = items.find((item) => item !== null);
    if (found !== undefined) return found;
  }
  return null;
}

/** Objects that cannot be mapped are left out and logged, because one bad object must not hide all others. */
export async function* mapPages<T>(
  context: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  map: MapItem<T>,
  { after = null }: ListingStart = {},
): Pages<T> {
  const walk = { pagesMax: resyncPagesMax, map: mapOrLeaveOut(context, operation, map), after };
  for await (const { items, next } of walkPages(context, operation, fetch, walk)) {
    const leftOut = items.flatMap((one) => ('item' in one ? [] : [one]));
    yield { items: readable(items), leftOut, next };
  }
}

/** Like `mapPages`, for a listing of the objects of one customer or payment. */
export async function mapAll<T>(
  context: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  map: MapItem<T>,
): Promise<readonly T[]> {
  return readable(await fetchAll(context, operation, fetch, mapOrLeaveOut(context, operation, map)));
}

type Readable<T> = { readonly item: T } | LeftOut;

export function readable<T>(items: readonly Readable<T>[]): readonly T[] {
  return items.flatMap((one) => ('item' in one ? [one.item] : []));
}

/** Returns the mapped object. If it cannot be mapped, logs it and returns the reason. */
export function mapOrLeaveOut<T>(
  context: AdapterContext,
  operation: ProcessorOperation,
  map: MapItem<T>,
): MapItem<Readable<T>> {
  return (value, asOf) => {
    try {
      return { item: map(value, asOf) };
    } catch (error) {
      if (!(error instanceof UnmappableError)) throw error;
      const id = WireObject.parse(value, 'item').optionalText('id');
      const reason = error.message;
      context.logger.warn({ operation, processorId: id, reason }, 'invalid object left out of a list');
      return { id, reason };
    }
  };
}

/** The wire API's filter for objects created since. */
export function createdSince(since: Date): { created: { gte: number } } {
  return { created: { gte: Math.max(0, Math.floor(earliestCreation(since).getTime() / 1000)) } };
}

/** The earliest creation time by the processor's clock, for a time by the local clock. */
export function earliestCreation(since: Date): Date {
  return new Date(since.getTime() - clockSkewMsMax);
}

interface ListingPage<T> {
  readonly items: readonly T[];
  /** The id after which the next page starts. Null on the last page. */
  readonly next: string | null;
}

export function takePage<T>(response: unknown, map: (value: unknown) => T): ListingPage<T> {
  const list = WireObject.parse(response, 'list');
  list.oneOf('object', ['list']);
  const values = list.array('data');
  const next = list.flag('has_more') ? WireObject.parse(values.at(-1), 'the last item').text('id') : null;
  return { items: values.map(map), next };
}
