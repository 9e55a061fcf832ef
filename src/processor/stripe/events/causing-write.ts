import type { CausingWrite } from '../../port/event-facts.ts';
import { ifReadable, type WireObject } from '../wire/wire-object.ts';

/** The call that caused an event. Null if none did, or if the event does not show it. */
export function causingWriteOf(event: WireObject): CausingWrite | null {
  return ifReadable(() => {
    const request = event.has('request') ? event.objectOrNull('request') : null;
    if (request === null || request.textOrNull('id') === null) return null;
    return {
      idempotencyKey: request.has('idempotency_key') ? request.textOrNull('idempotency_key') : null,
      objectId: event.object('data').object('object').id(),
    };
  });
}
