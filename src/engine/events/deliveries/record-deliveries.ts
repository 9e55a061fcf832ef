import { newId } from '#core/platform/id.ts';
import type { Platform } from '#core/platform/platform.ts';
import { type EventEndpoint, wantsType } from '../endpoints/endpoint.ts';
import type { EndpointStore } from '../endpoints/endpoint-store.ts';
import { type DeliveryOutcome, retryDelayAfter } from './delivery.ts';
import type { QueuedDelivery } from './delivery-queue.ts';
import type { DeliveryRecord, DeliveryStore } from './delivery-store.ts';
import type { EventSender } from './event-sender.ts';
import type { ResendStore } from './resend-store.ts';

/**
 * An attempt that has ended. Its outcome is null if nothing was sent, because the event is no longer kept or wanted.
 */
export interface EndedDelivery {
  readonly delivery: QueuedDelivery;
  readonly outcome: DeliveryOutcome | null;
  /** The endpoint no longer wants events of this type. The delivery is removed, and is not recorded as failed. */
  readonly isDropped?: boolean;
}

/** The delay until the lane drops a failed event whose type is no longer wanted. By then, it knows the new types. */
const unwantedDelayMs = 1_000;

/** What the lanes of all endpoints share. */
export interface DeliveryContext extends Platform {
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly resends: ResendStore;
  readonly sender: EventSender;
  /** Between 0 and 1, for jitter. */
  readonly random: () => number;
  /** The delay after the first failed attempt. Tests that trigger attempts themselves set a longer one. */
  readonly retryDelayMs?: number | undefined;
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
  /** The same for its resends. */
  readonly resendDueInMs: number;
}

/**
 * Records attempts and the position of an endpoint in one transaction. Undefined if this process must no longer deliver
 * to it: another one holds the lease, the position went back, or the endpoint is deleted.
 */
export function recordDeliveries(
  { database, endpoints, deliveries, resends, random, retryDelayMs }: DeliveryContext,
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
    const final = others.filter(isFinal);
    const failed = final.filter(({ isDropped }) => isDropped !== true);
    const retried = others.filter((one) => !isFinal(one));
    const finished = [...succeeded, ...final];
    const retries = retried.map((one) => {
      const record = toRecord(one);
      const { isResend, event } = one.delivery;
      const isWanted = isResend || wantsType(state, event.type);
      const retryMs = retryDelayAfter(record.attempt, random(), retryDelayMs);
      const delayMs = isWanted ? retryMs : unwantedDelayMs;
      return { ...record, isResend, delayMs };
    });
    const [resent, inOrder] = partition(finished.map(({ delivery }) => delivery));
    const [retriedResends, retriedInOrder] = partition(retries);
    const withRows = inOrder.filter(({ hasRow }) => hasRow);
    deliveries.deleteWaiting(tx, 'retries', endpoint.id, idsOf(withRows));
    deliveries.deleteWaiting(tx, 'resends', endpoint.id, idsOf(resent));
    deliveries.insertFinished(tx, endpoint.id, [...succeeded, ...failed].map(toRecord));
    deliveries.saveWaiting(tx, endpoint.id, [
      ...retriedInOrder,
      ...waiting.map((delivery) => ({ ...delivery, outcome: null, delayMs: 0 })),
    ]);
    resends.saveWaiting(tx, endpoint.id, retriedResends);
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
      dueInMs: isDueNow ? 0 : Math.min(...retriedInOrder.map(({ delayMs }) => delayMs)),
      resendDueInMs: state.isBack ? 0 : Math.min(...retriedResends.map(({ delayMs }) => delayMs)),
    };
  });
}

/** Splits the attempts into resends and all others. */
function partition<Sent extends { readonly isResend: boolean }>(
  all: readonly Sent[],
): readonly [readonly Sent[], readonly Sent[]] {
  return [all.filter(({ isResend }) => isResend), all.filter(({ isResend }) => !isResend)];
}

function idsOf(deliveries: readonly QueuedDelivery[]): readonly string[] {
  return deliveries.map(({ id }) => id);
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
