import { newId } from '../../platform/id.ts';
import type { Database } from '../../platform/postgres.ts';
import type { EventEndpoint } from '../endpoints/endpoint.ts';
import type { EndpointStore } from '../endpoints/endpoint-store.ts';
import { type DeliveryOutcome, retryDelayAfter } from './delivery.ts';
import type { QueuedDelivery } from './delivery-queue.ts';
import type { DeliveryRecord, DeliveryStore } from './delivery-store.ts';

/** An attempt that has ended. Null as the result: nothing was sent, because the event is no longer kept. */
export interface EndedDelivery {
  readonly delivery: QueuedDelivery;
  readonly outcome: DeliveryOutcome | null;
}

interface RecordParts {
  readonly database: Database;
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  /** Between 0 and 1, for jitter. */
  readonly random: () => number;
}

interface DeliveryBatch {
  readonly owner: number;
  readonly position: number;
  /** Events up to this position were read. */
  readonly readPosition: number;
  readonly ended: readonly EndedDelivery[];
  /** Events that begin to wait without an attempt, or while one is in progress. */
  readonly waiting: readonly QueuedDelivery[];
  /** The lane is ending. A request may have turned the endpoint off and on again, so no failure is final. */
  readonly isEnding: boolean;
}

export interface RecordedBatch {
  readonly succeeded: number;
  /** Attempts that failed and will be repeated. */
  readonly retried: number;
  /** Deliveries that failed for good. */
  readonly failed: number;
  /** The endpoint was turned off, because nothing has succeeded for three days. */
  readonly isTurnedOff: boolean;
  /** When the first waiting delivery of this batch is due. Infinity if there is none. */
  readonly dueInMs: number;
}

/**
 * Records attempts and the position of an endpoint in one transaction. Undefined if this process must no longer deliver to
 * it: another one holds the lease, the position went back, or the endpoint is deleted.
 */
export function recordDeliveries(
  { database, endpoints, deliveries, random }: RecordParts,
  endpoint: EventEndpoint,
  { owner, position, readPosition, ended, waiting, isEnding }: DeliveryBatch,
): Promise<RecordedBatch | undefined> {
  const succeeded = ended.filter(({ outcome }) => outcome?.succeeded === true);
  const others = ended.filter(({ outcome }) => outcome?.succeeded !== true);
  return database.transaction(async (tx) => {
    const state = await endpoints.advance(tx, endpoint.id, {
      owner,
      revision: endpoint.revision,
      position,
      hasSucceeded: succeeded.length > 0,
      hasFailed: others.some(({ outcome }) => outcome !== null),
    });
    if (state === undefined) return undefined;
    // An endpoint that is turned off keeps its unsent events, so that it misses nothing when it is turned on again.
    const isFinal = ({ delivery, outcome }: EndedDelivery) =>
      outcome === null || (delivery.isLast && !state.isDead && !isEnding);
    const failed = others.filter(isFinal);
    const retried = others.filter((one) => !isFinal(one));
    const finished = [...succeeded, ...failed];
    const withRows = finished.filter(({ delivery }) => delivery.hasRow).map(({ delivery }) => delivery);
    const retries = retried.map((one) => {
      const record = toRecord(one);
      return { ...record, delayMs: retryDelayAfter(record.attempt, random()) };
    });
    deliveries.deleteWaiting(
      tx,
      endpoint.id,
      withRows.map(({ id }) => id),
    );
    deliveries.insertFinished(tx, endpoint.id, finished.map(toRecord));
    deliveries.saveWaiting(tx, endpoint.id, [
      ...retries,
      ...waiting.map((delivery) => ({ ...delivery, outcome: null, delayMs: 0 })),
    ]);
    const now = new Date();
    const freed = withRows.map(({ event: { objectId, position: done } }) => ({
      objectId,
      position: done,
      nextId: newId(now),
    }));
    deliveries.promote(tx, endpoint, freed, readPosition);
    if (state.isBack) deliveries.makeDue(tx, endpoint.id, { startsAfresh: false });
    if (state.isDead) await endpoints.turnOff(tx, endpoint.id);
    const isDueNow = freed.length > 0 || state.isBack;
    return {
      succeeded: succeeded.length,
      retried: retried.length,
      failed: failed.length,
      isTurnedOff: state.isDead,
      dueInMs: isDueNow ? 0 : Math.min(...retries.map(({ delayMs }) => delayMs)),
    };
  });
}

function toRecord({ delivery, outcome }: EndedDelivery): DeliveryRecord {
  const attempt = delivery.attempt + (outcome === null ? 0 : 1);
  return { ...delivery, attempt, outcome: outcome ?? expired };
}

const expired: DeliveryOutcome = {
  succeeded: false,
  responseStatus: null,
  responseBody: null,
  durationMs: 0,
  error: 'EVENT_EXPIRED',
};
