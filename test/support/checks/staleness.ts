import assert from 'node:assert/strict';
import type { Stripe } from 'stripe';
import type { Sql } from '../backend.ts';
import { addOnRows, addOnsTruth, endsWithPeriodTruth, mainItemTruth } from './subscription-truth.ts';

/** What an API call has shown Till. */
export interface Reading {
  readonly objectId: string;
  /** The latest event of all when the call began: the object was seen as it was then, or newer. */
  readonly eventId: string;
  /** Whether the call changed the object, so that it was seen with that change. */
  readonly isChange: boolean;
}

/** What Till has taken in: the ids of processed events, and what its own calls have shown it. */
export interface Taken {
  readonly events: ReadonlySet<string>;
  readonly readings: readonly Reading[];
}

interface Version {
  /** Its place among all events of the processor. */
  readonly index: number;
  readonly view: string;
}

/** By the processor's ids, what each row shows; the fields are those that events carry too. */
export async function readRows(sql: Sql): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ id: string; view: unknown }>(
    `select processor_customer_id as id, json_build_array(email, name, phone, deleted_at is not null) as view
       from till.customers
     union all select processor_product_id, json_build_array(name, product_active) from till.plans
     union all select processor_price_id, json_build_array(price_active) from till.plans
     union all select processor_payment_intent_id, json_build_array(intent_status, amount_received) from till.payments
     union all select processor_refund_id, json_build_array(status, amount) from till.refunds
       where processor_refund_id is not null
     union all select dispute->>'processorDisputeId', json_build_array(dispute->'status') from till.payments
       where dispute is not null
     union all select processor_subscription_id, json_build_array(status, processor_price_id,
         extract(epoch from current_period_start)::bigint, extract(epoch from current_period_end)::bigint,
         quantity, ${addOnRows('add_ons')}, cancel_at_period_end, processor_latest_invoice_id, default_payment_method_id)
       from till.subscriptions join till.plans on plans.id = plan_id
     union all select processor_invoice_id, json_build_array(status, amount_due, amount_paid) from till.invoices`,
  );
  return new Map(rows.map(({ id, view }) => [id, JSON.stringify(view)]));
}

export async function readProcessedEvents(sql: Sql): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }>(`select id from till.webhook_events where state = 'processed'`);
  return new Set(rows.map(({ id }) => id));
}

/**
 * No row is older than the newest information about it that Till has taken in, be it from an event that is processed or
 * from a response of the processor. `events` are all of the processor's, oldest first, read after the rows.
 */
export function assertNotOlder(
  rows: ReadonlyMap<string, string>,
  events: readonly Stripe.Event[],
  taken: Taken,
): void {
  const { newest, versions } = newestTaken(events, taken);
  const stale = [...newest].flatMap(([id, index]) => {
    const [row, all] = [rows.get(id), versions.get(id)];
    if (row === undefined || all === undefined) return [];
    const known = all.filter((version) => version.index <= index).at(-1)?.index ?? 0;
    const allowed = all.filter((version) => version.index >= known).map(({ view }) => view);
    return allowed.includes(row) ? [] : [{ id, row, allowed, all: all.map(({ view }) => view) }];
  });
  assert.deepEqual(stale, []);
}

/** All versions of every object, and the place of the newest event of which Till knows about each. */
export function newestTaken(events: readonly Stripe.Event[], taken: Taken) {
  const indexes = new Map(events.map(({ id }, index) => [id, index]));
  const newest = new Map<string, number>();
  const know = (objectId: string, index: number) =>
    newest.set(objectId, Math.max(newest.get(objectId) ?? 0, index));
  const versions = new Map<string, Version[]>();
  for (const [index, event] of events.entries()) {
    const version = versionOf(event);
    if (version === undefined) continue;
    const { id, view } = version;
    versions.set(id, [...(versions.get(id) ?? []), { index, view }]);
    if (taken.events.has(event.id)) know(id, index);
  }
  for (const { objectId, eventId, isChange } of taken.readings) {
    const begun = indexes.get(eventId) ?? 0;
    // Only the call changes the object meanwhile, so that the next version is the call's own.
    const changed = isChange ? versions.get(objectId)?.find(({ index }) => index > begun) : undefined;
    know(objectId, changed?.index ?? begun);
  }
  return { newest, versions };
}

function versionOf({ type, data }: Stripe.Event): { readonly id: string; readonly view: string } | undefined {
  // The types of events are many; what matters is the kind of their object.
  const object = data.object as Stripe.Event.Data.Object & { readonly object: string };
  const view = viewOf(object as Snapshot, type);
  return view === undefined ? undefined : { id: (object as Snapshot).id ?? '', view: JSON.stringify(view) };
}

type Snapshot =
  | Stripe.Customer
  | Stripe.Product
  | Stripe.Price
  | Stripe.PaymentIntent
  | Stripe.Refund
  | Stripe.Dispute
  | Stripe.Subscription
  | Stripe.Invoice;

function viewOf(object: Snapshot, type: string): readonly unknown[] | undefined {
  switch (object.object) {
    case 'customer':
      return type === 'customer.deleted'
        ? [null, null, null, true]
        : [object.email, object.name ?? null, object.phone ?? null, false];
    case 'product':
      return [object.name, object.active];
    case 'price':
      return [object.active];
    case 'payment_intent':
      return [
        object.status === 'requires_capture' ? 'requires_action' : object.status,
        object.amount_received,
      ];
    case 'refund':
      return [object.status, object.amount];
    case 'dispute':
      return [object.status];
    case 'subscription': {
      const item = mainItemTruth(object);
      const addOns = addOnsTruth(object);
      const { latest_invoice: invoice, default_payment_method: card } = object;
      const period = [item?.current_period_start, item?.current_period_end];
      const ends = endsWithPeriodTruth(object);
      const status = object.status === 'paused' ? 'unpaid' : object.status;
      return [status, item?.price.id, ...period, item?.quantity, addOns, ends, invoice, card];
    }
    case 'invoice':
      return [object.status, object.amount_due, object.amount_paid];
    default:
      return undefined;
  }
}
