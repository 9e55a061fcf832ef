import type { StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, SubscriptionItem } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import type { WireError } from '../wire/wire-error.ts';
import { tooMany } from './refusals.ts';
import { SlidingLimits } from './sliding-limit.ts';

/** The processor's own limits, in sandbox time: of new invoices of one subscription, … */
const invoiceLimits = [
  { max: 10, window: 60, period: 'minute' },
  { max: 20, window: 86_400, period: 'day' },
] as const;
/** … of changes of its quantity, … */
const quantityChangesPerHour = 200;
/** … and of updates of one payment intent. */
const intentUpdatesPerHour = 1_000;

/** The limits of single objects. They apply to requests only: renewals count, but are never refused. */
export class ObjectLimits {
  readonly #quantityChanges = new SlidingLimits({ max: quantityChangesPerHour, window: 3_600 });
  readonly #intentUpdates = new SlidingLimits({ max: intentUpdatesPerHour, window: 3_600 });

  /** Throws if the work of a request, which is not committed yet, exceeds a limit. */
  check({ name }: Operation, { store, id }: Call, events: readonly StoredEvent[]): void {
    // The type of the event says what its object is.
    for (const { type, subject } of events)
      if (type === 'invoice.created') checkInvoices(store, subject as Invoice);
    for (const event of events)
      if (changesQuantity(event))
        take(this.#quantityChanges, event.subject.id, store, () =>
          tooMany(
            `changes of the quantity of subscription ${event.subject.id}`,
            quantityChangesPerHour,
            'hour',
          ),
        );
    if (name === 'payment_intents.update')
      take(this.#intentUpdates, id, store, () =>
        tooMany(`updates of payment intent ${id}`, intentUpdatesPerHour, 'hour'),
      );
  }
}

function take(limits: SlidingLimits, id: string, store: Store, refusal: () => WireError): void {
  const limit = limits.of(id);
  const now = store.worldNow();
  if (!limit.hasRoom(now)) throw refusal();
  limit.note(now);
}

/** The new invoice is stored already, so it counts. */
function checkInvoices(store: Store, { parent, created }: Invoice): void {
  const subscription = parent?.subscription_details.subscription;
  if (subscription === undefined || subscription === null) return;
  const times = store.invoices.allWithin('subscription', subscription).map((invoice) => invoice.created);
  for (const { max, window, period } of invoiceLimits)
    if (times.filter((time) => time > created - window).length > max)
      throw tooMany(`new invoices of subscription ${subscription}`, max, period);
}

function changesQuantity({ type, previous, subject }: StoredEvent): boolean {
  if (type !== 'customer.subscription.updated' || previous === null) return false;
  // An array in `previous` is complete, and both are those of a subscription.
  const { items: before } = previous as { readonly items?: { readonly data?: readonly SubscriptionItem[] } };
  const { items: after } = subject as unknown as {
    readonly items: { readonly data: readonly SubscriptionItem[] };
  };
  const quantities = new Map(before?.data?.map(({ id, quantity }) => [id, quantity]));
  return after.data.some(({ id, quantity }) => quantities.has(id) && quantities.get(id) !== quantity);
}
