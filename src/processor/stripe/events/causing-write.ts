import type { CausingWrite } from '../wire/sent-writes.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';

/** The write that caused a stored event. Undefined if no request to the processor's API did. */
export function causingWriteOf(payload: string): CausingWrite | undefined {
  const write = ifReadable(() => {
    const event = WireObject.parse(JSON.parse(payload), 'event');
    const request = event.object('request');
    request.shortText('id');
    return {
      idempotencyKey: request.optionalText('idempotency_key'),
      objectId: event.object('data').object('object').id(),
    };
  });
  return write ?? undefined;
}
