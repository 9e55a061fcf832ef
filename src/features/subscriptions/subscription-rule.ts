import type { EventReading, EventRule, RefreshTarget } from '#engine/sync/event-rule.ts';

/** The items that a voided invoice has taken must wait again. */
export const subscriptionRule: EventRule = { alsoRefreshed: voidedInvoicesOf };

function voidedInvoicesOf({ subject, facts }: EventReading): readonly RefreshTarget[] {
  if (subject !== 'invoice') return [];
  return facts.flatMap(({ mayLose, processorSubscriptionId: key }) =>
    mayLose === true && key !== null ? [{ subject: 'voidedInvoice', key } as const] : [],
  );
}
