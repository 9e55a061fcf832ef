import type { Stripe } from 'stripe';
import { Failure } from '../../errors.ts';
import type { Pages, ProcessorOperation } from '../processor.ts';
import { type AsOf, UnmappableError } from '../processor-facts.ts';
import type { AdapterContext } from './adapter-context.ts';
import { WireObject } from './wire-object.ts';

/** The most that the processor gives at once. */
const pageSize = 100;

/** A hundred million objects, which is more than any account of ours will hold. A listing that does not end is a bug. */
export const resyncPagesMax = 1_000_000;

/**
 * Ten thousand objects made since a call that went astray. The sweeper looks within minutes, when there are few; a
 * longer listing means that something else is wrong, and must not eat the rate of everybody's calls.
 */
export const lookUpPagesMax = 100;

/** How far the processor's clock may be from ours: generous, since looking too far back only costs a page. */
const clockSkewMsMax = 300_000;

export interface PageRequest {
  readonly limit: number;
  readonly starting_after?: string;
}

/** From an item, and when its page was true, to the result. */
type MapItem<T> = (value: unknown, asOf: AsOf) => T;

export type Fetch = (page: PageRequest, options: Stripe.RequestOptions) => Promise<unknown>;

/**
 * Page after page of a listing. Past `pagesMax` it fails rather than end early, and so it does on an object that
 * `map` does not understand: whoever counts on completeness is never told less.
 */
export async function* fetchPages<T>(
  { call }: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  pagesMax: number,
  map: MapItem<T>,
): AsyncGenerator<readonly T[]> {
  let after: string | undefined;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const request = { limit: pageSize, ...(after === undefined ? {} : { starting_after: after }) };
    const page = await call(operation, {
      kind: 'read',
      send: (options) => fetch(request, options),
      take: (answer, asOf) => takePage(answer, (value) => map(value, asOf)),
    });
    yield page.items;
    if (page.next === null) return;
    after = page.next;
  }
  throw new Failure(
    'processor_bad_answer',
    `The processor's listing (${operation}) does not end within ${pagesMax} pages.`,
    { effect: 'none' },
  );
}

/** What cannot be mapped is left out and logged, because one odd object must not hide all others. */
export async function* mapPages<T>(
  context: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  map: MapItem<T>,
  pagesMax = resyncPagesMax,
): Pages<T> {
  const mapOrLog = (value: unknown, asOf: AsOf): T[] => {
    try {
      return [map(value, asOf)];
    } catch (error) {
      if (!(error instanceof UnmappableError)) throw error;
      const processorId = WireObject.parse(value, 'item').optionalText('id');
      context.logger.warn({ operation, processorId, reason: error.message }, 'left out of a listing');
      return [];
    }
  };
  for await (const items of fetchPages(context, operation, fetch, pagesMax, mapOrLog)) yield items.flat();
}

/** The id of the object that carries our id, among those that the listing holds. */
export async function findByLocalId(
  context: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  localId: string,
): Promise<string | null> {
  const map = (value: unknown) => {
    const item = WireObject.parse(value, 'item');
    return { id: item.text('id'), localId: item.localId() };
  };
  for await (const items of fetchPages(context, operation, fetch, lookUpPagesMax, map)) {
    const found = items.find((item) => item.localId === localId);
    if (found !== undefined) return found.id;
  }
  return null;
}

/** The wire's filter for what was made since. */
export function createdSince(since: Date): { created: { gte: number } } {
  return { created: { gte: Math.max(0, Math.floor((since.getTime() - clockSkewMsMax) / 1000)) } };
}

interface Page<T> {
  readonly items: readonly T[];
  /** The id after which the next page starts; null on the last. */
  readonly next: string | null;
}

function takePage<T>(answer: unknown, map: (value: unknown) => T): Page<T> {
  const list = WireObject.parse(answer, 'list');
  list.oneOf('object', ['list']);
  const values = list.array('data');
  const next = list.flag('has_more') ? WireObject.parse(values.at(-1), 'the last item').text('id') : null;
  return { items: values.map(map), next };
}
