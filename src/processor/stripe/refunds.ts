import type { RefundCalls } from '../processor.ts';
import type { AdapterContext } from './adapter-context.ts';
import { done, isMissing, wrongState } from './attempt.ts';
import { type Fetch, fetchPages, lookUpPagesMax, mapPages } from './listing.ts';
import { mapRefund } from './map-refund.ts';
import type { Refusal } from './refusal.ts';
import { localIdKey } from './wire-object.ts';

export function createRefundCalls(context: AdapterContext): RefundCalls {
  const { stripe, call } = context;
  return {
    create: ({ id, processorPaymentIntentId, amount, reason, idempotencyKey }) =>
      call('refunds.create', {
        kind: 'write',
        send: (options) =>
          stripe.refunds.create(
            {
              payment_intent: processorPaymentIntentId,
              amount,
              ...(reason === null ? {} : { reason }),
              metadata: { [localIdKey]: id },
            },
            { ...options, idempotencyKey },
          ),
        take: (answer) => done(mapRefund(answer)),
        refused: (refusal) => {
          if (refusal.code === 'resource_missing') return { outcome: 'missing' };
          return isAboutState(refusal) ? wrongState(refusal) : undefined;
        },
      }),

    read: (processorRefundId) =>
      call('refunds.read', {
        kind: 'read',
        send: (options) => stripe.refunds.retrieve(processorRefundId, {}, options),
        take: (answer) => mapRefund(answer),
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      }),

    listOfPayment: async (processorPaymentIntentId) => {
      const fetch: Fetch = (page, options) =>
        stripe.refunds.list({ payment_intent: processorPaymentIntentId, ...page }, options);
      const refunds = [];
      const pages = fetchPages(context, 'refunds.list', fetch, lookUpPagesMax, (value) => mapRefund(value));
      for await (const page of pages) refunds.push(...page);
      return refunds;
    },

    list: () =>
      mapPages(
        context,
        'refunds.list',
        (page, options) => stripe.refunds.list(page, options),
        (value) => mapRefund(value),
      ),
  };
}

/**
 * Till asks for no more than its mirror says is left of a payment that its mirror says has succeeded. A refusal of
 * either, with a code or (as for an amount that is too large) without one, therefore means that the mirror is behind.
 */
function isAboutState({ code, param }: Refusal): boolean {
  return stateCodes.includes(code ?? '') || (code === null && param !== 'reason');
}

const stateCodes: readonly string[] = [
  'amount_too_large',
  'charge_already_refunded',
  'charge_disputed',
  'charge_not_refundable',
  'payment_intent_unexpected_state',
  'refund_disputed_payment',
];
