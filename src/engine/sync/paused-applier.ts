import { setTimeout } from 'node:timers/promises';
import type { WorkDoor } from '#core/platform/work-door.ts';
import type { EventApplier } from './event-applier.ts';

export type Applier = Pick<EventApplier, 'hasDue' | 'startBatch' | 'applyReceived'>;

/** How soon the worker looks again. A pause takes a fraction of a second. */
const pauseDelayMs = 100;

/** Applies no events while the door is closed. Their refreshes end last. */
export function pausedBy(door: WorkDoor, applier: EventApplier): Applier {
  return {
    hasDue: () => applier.hasDue(),
    startBatch: async () => {
      const leave = door.tryEnter();
      if (leave === undefined) {
        await setTimeout(pauseDelayMs);
        return { size: 0, refreshed: Promise.resolve() };
      }
      return leaveAfter(leave, () => applier.startBatch());
    },
    // The requests that deliver the events have entered the door already.
    applyReceived: (received, mayRefresh) =>
      leaveAfter(door.join(), () => applier.applyReceived(received, mayRefresh)),
  };
}

async function leaveAfter<Started extends { readonly refreshed: Promise<void> }>(
  leave: () => void,
  start: () => Promise<Started>,
): Promise<Started> {
  try {
    const started = await start();
    started.refreshed.then(leave, leave);
    return started;
  } catch (error) {
    leave();
    throw error;
  }
}
