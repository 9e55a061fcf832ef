import type { EventDelivery } from '@till/client';
import { plural } from './words.ts';

interface DeliveryState {
  readonly text: string;
  readonly tone: 'good' | 'busy' | 'bad';
}

/** How a delivery goes, for people: one whose attempts failed is not just pending. */
export function deliveryState(
  { status, attempt, nextAttemptAt }: Pick<EventDelivery, 'status' | 'attempt' | 'nextAttemptAt'>,
  nowMs: number,
): DeliveryState {
  if (status === 'succeeded') return { text: 'Succeeded', tone: 'good' };
  if (status === 'failed') return { text: `Failed: ${plural(attempt, 'attempt')}`, tone: 'bad' };
  if (attempt === 0) return { text: 'Pending', tone: 'busy' };
  const next = nextAttemptAt === null ? '' : `, next ${remaining(Date.parse(nextAttemptAt) - nowMs)}`;
  return { text: `Failing: ${plural(attempt, 'attempt')}${next}`, tone: 'bad' };
}

/** `in 3 min`, `in 2 h`; `now` if the time has come. */
function remaining(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds <= 0) return 'now';
  if (seconds < 60) return `in ${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `in ${minutes} min` : `in ${Math.round(minutes / 60)} h`;
}
