import { idTime } from '#core/platform/id.ts';
import { lostClaimAgeMs } from '#engine/idempotency/claim.ts';
import { keyReused } from '#engine/idempotency/claim-failures.ts';
import type { OperationWrite } from '#engine/idempotency/operation.ts';

type Marking = Pick<OperationWrite, 'id' | 'mark'>;

/**
 * Fifteen marks of 30 characters fit into the 500 of a metadata value. A subscription rarely changes more often in a
 * day.
 */
const marksMax = 15;
const hourMs = 3_600_000;

/**
 * The marks of the changes of a subscription, after the change of this request. A subscription carries the marks of its
 * newest changes. If the claim of a change is lost, its mark shows that the change took effect, even after other
 * changes. A mark contains the hour of its request, so that an idempotency key that is used again after a day counts as
 * a new one. A repeated call has the same mark.
 */
export function withChangeMark(marks: readonly string[], write: Marking): readonly string[] {
  return [changeMark(write), ...marks].slice(0, marksMax);
}

/**
 * Whether the marks show a change of this request. Fails if it was a different request with the same idempotency key.
 */
export function hasChangeMark(marks: readonly string[], { id, mark }: Marking): boolean {
  const [ownKey, ownRequest] = changeMark({ id, mark }).split('.');
  const found = marks.map((one) => one.split('.')).find(([key]) => key === ownKey);
  const [, request, hour = ''] = found ?? [];
  const oldestHour = hourOf(id) - lostClaimAgeMs / hourMs;
  if (found === undefined || Number.parseInt(hour, 36) < oldestHour) return false;
  if (request !== ownRequest) throw keyReused();
  return true;
}

/** A few digits of each digest are enough to distinguish the changes of one subscription. */
function changeMark({ id, mark }: Marking): string {
  return `${mark.key.slice(0, 16)}.${mark.request.slice(0, 8)}.${hourOf(id).toString(36)}`;
}

function hourOf(id: string): number {
  return Math.floor(idTime(id).getTime() / hourMs);
}
