import { appendForIds } from './stored-events.ts';
import type { TillInProcess } from './till-in-process.ts';
import { until } from './until.ts';

export interface DeliveryBody {
  readonly id: string;
  readonly endpointId: string;
  readonly eventType: string | null;
  readonly objectType: string | null;
  readonly objectId: string | null;
  readonly customerId: string | null;
  readonly eventId: string;
  readonly attempt: number;
  readonly status: 'pending' | 'succeeded' | 'failed';
  readonly responseStatus: number | null;
  readonly responseBody: string | null;
  readonly durationMs: number | null;
  readonly createdAt: string;
  readonly nextAttemptAt: string | null;
}

interface Endpoint {
  readonly id: string;
}

/** The delay of Tills whose tests repeat attempts themselves: no test lasts so long. */
export const patientRetryDelayMs = 3_600_000;

/** What tests do with a Till that delivers events. */
export function deliveryCalls(till: TillInProcess) {
  const { sql } = till;
  const { dispatcher } = till.services;
  const deliveriesOf = async ({ id }: Endpoint): Promise<readonly DeliveryBody[]> => {
    const path = `/event-endpoints/${id}/deliveries?limit=100`;
    return (await till.get<{ readonly data: readonly DeliveryBody[] }>(path)).data;
  };
  return {
    deliveriesOf,
    /** Writes events, and wakes the delivery as a transaction of the same process does. */
    append: async (...events: Parameters<typeof appendForIds>[1]) => {
      const ids = await appendForIds(sql, events);
      dispatcher.nudge();
      return ids;
    },
    /**
     * Resolves when attempts have given so many deliveries this status. One whose first attempt takes long is pending
     * too.
     */
    recorded: (endpoint: Endpoint, status: DeliveryBody['status'], count: number) =>
      until(async () => {
        const all = await deliveriesOf(endpoint);
        return all.filter((one) => one.status === status && one.attempt > 0).length === count;
      }),
    /** As if the time of the next attempt had come. */
    retryNow: async (change = '') => {
      // In one transaction, and the endpoint first, as Till locks them: otherwise both could wait for each other.
      await sql(
        `update till.event_endpoints set updated_at = clock_timestamp();
         update till.event_retries set next_attempt_at = now() ${change};
         update till.event_resends set next_attempt_at = now() ${change}`,
      );
      await dispatcher.endpointsChanged();
    },
  };
}
