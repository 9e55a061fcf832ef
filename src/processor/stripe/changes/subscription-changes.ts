import type { SubscriptionChangeCalls } from '../../port/subscription-changes.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { changeNow, dropPendingChange, settleCharge, settleWaitingChange } from './change-now.ts';
import { changeSettings } from './change-settings.ts';
import { readChangeable } from './changeable-subscription.ts';
import { changeAtPeriodEnd, endSpentPlanning, listPlannings } from './planned-changes.ts';
import { previewChange } from './preview-change.ts';
import { restoreOfVoidedInvoices } from './restore-voided.ts';

/** Changes of subscriptions, with pending updates, schedules and invoice items. */
export function createSubscriptionChangeCalls(context: AdapterContext): SubscriptionChangeCalls {
  return {
    read: (processorSubscriptionId) => readChangeable(context, processorSubscriptionId),
    changeNow: (order) => changeNow(context, order),
    settleWaitingChange: (order) => settleWaitingChange(context, order.found, order.idempotencyKey),
    listPlannings: (processorCustomerId) => listPlannings(context, processorCustomerId),
    endSpentPlanning: (order) => endSpentPlanning(context, order),
    changeAtPeriodEnd: (order) => changeAtPeriodEnd(context, order),
    changeSettings: (order) => changeSettings(context, order),
    dropPendingChange: async ({ found, which, idempotencyKey }) =>
      (await dropPendingChange(context, found, idempotencyKey, which))
        ? readChangeable(context, found.subscription.processorSubscriptionId)
        : found,
    // The process may have died after the declined charge, before or after the pending update ended.
    settleAbandonedChange: async ({ processorSubscriptionId, idempotencyKey }) => {
      const found = await readChangeable(context, processorSubscriptionId);
      await settleCharge(context, found, idempotencyKey);
      await restoreOfVoidedInvoices(context, found.subscription);
      return readChangeable(context, processorSubscriptionId);
    },
    restoreUnbilled: (subscription) => restoreOfVoidedInvoices(context, subscription),
    preview: (change) => previewChange(context, change),
  };
}
