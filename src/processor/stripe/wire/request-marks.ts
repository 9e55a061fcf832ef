import type { Stripe } from 'stripe';
import type { LookUp, Marked, RequestMark } from '../../port/request-mark.ts';
import type { AdapterContext } from './adapter-context.ts';
import { createdSince, earliestCreation, type Fetch, findFirst } from './listing.ts';
import type { ProcessorOperation } from './operations.ts';
import { creationKeys, fieldsOf } from './wire-metadata.ts';
import { WireObject } from './wire-object.ts';

/**
 * The longest lag of the processor's search: usually about a minute, up to an hour during an outage. Newer objects are
 * listed instead.
 */
const searchLagMsMax = 3_600_000;

/** At most one object has a mark, unless a person copied its metadata. */
const searchedMax = 10;

/** An object that a request with the same idempotency key created. */
interface MarkedObject {
  readonly id: string;
  readonly localId: string | null;
  readonly request: string | null;
  readonly value: unknown;
}

/** The object, if it has the mark of a request with this idempotency key. */
export function readMark(value: unknown, { key }: RequestMark, keys = creationKeys): MarkedObject | null {
  const object = WireObject.parse(value, 'item');
  // Fails if the response has no metadata, because then the mark is unknown and not missing.
  const localId = object.localId();
  const fields = fieldsOf(object);
  if (fields?.[keys.key] !== key) return null;
  const request = fields[keys.request];
  return {
    id: object.text('id'),
    localId,
    request: typeof request === 'string' ? request : null,
    value,
  };
}

/** The object in the listing that a request with this idempotency key created. */
export function findMarked(
  context: AdapterContext,
  operation: ProcessorOperation,
  fetch: Fetch,
  mark: RequestMark,
): Promise<MarkedObject | null> {
  return findFirst(context, operation, fetch, (value) => readMark(value, mark));
}

/** A kind of object without a parent. Listing all objects of a day would take too long. */
interface Searched {
  readonly listing: ProcessorOperation;
  readonly list: (filter: ReturnType<typeof createdSince>) => Fetch;
  readonly searching: ProcessorOperation;
  readonly search: (
    params: { readonly query: string; readonly limit: number },
    options: Stripe.RequestOptions,
  ) => Promise<unknown>;
}

/**
 * Like `findMarked`, for an object without a parent. Uses the processor's search, and lists the objects that are too
 * new for it.
 */
export async function searchMarked(
  context: AdapterContext,
  { listing, list, searching, search }: Searched,
  { mark, since }: LookUp,
): Promise<MarkedObject | null> {
  const query = `metadata['${creationKeys.key}']:'${mark.key}'`;
  const indexed = await context.call.read(searching, {
    send: (options) => search({ query, limit: searchedMax }, options),
    take: (response) =>
      WireObject.parse(response, 'search_result')
        .array('data')
        .filter((value) => WireObject.parse(value, 'item').createdAt(since) >= earliestCreation(since))
        .map((value) => readMark(value, mark))
        .find((found) => found !== null),
    // Not every account can search.
    refused: () => null,
  });
  if (indexed !== undefined && indexed !== null) return indexed;
  const youngest = indexed === null ? 0 : Date.now() - searchLagMsMax;
  const from = new Date(Math.max(since.getTime(), youngest));
  return findMarked(context, listing, list(createdSince(from)), mark);
}

/** The found value with its request. Null if the object was deleted meanwhile. */
export function withRequest<T>({ request }: MarkedObject, value: T | null): Marked<T> | null {
  return value === null ? null : { value, request };
}
