import type { Mirror } from '#engine/mirrors/mirror.ts';
import type { MirroredList } from '#engine/mirrors/mirrored-list.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { Mirrors } from './mirrors.ts';

/** What a resync compares and an import adopts, in this order: an object comes after those that it depends on. */
export function mirroredLists(processor: Processor, mirrors: Mirrors) {
  return {
    customer: listed(mirrors.customers, processor.customers),
    plan: listed(mirrors.plans, processor.plans),
    subscription: listed(mirrors.subscriptions, processor.subscriptions),
    invoice: listed(mirrors.invoices, processor.invoices),
    // Some of the payments were charged by subscriptions.
    payment: listed(mirrors.payments, processor.payments),
    refund: listed(mirrors.refunds, processor.refunds),
    dispute: listed(mirrors.disputes, processor.disputes),
    // Only the open checkouts. An import adopts none of them.
    checkout: listed(mirrors.checkouts, processor.checkouts),
  };
}

function listed<Facts>(
  mirror: Mirror<NoInfer<Facts>>,
  calls: Omit<MirroredList<Facts>, 'mirror'>,
): MirroredList<Facts> {
  return { mirror, list: (filter) => calls.list(filter) };
}
