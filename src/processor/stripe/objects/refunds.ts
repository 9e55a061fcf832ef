import type { AsOf } from '#core/model/facts.ts';
import type { RefundFacts } from '#core/model/refund.ts';
import type { RefundCalls } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { createdSince, fetchFrom, findFirst, mapAll, mapPages } from '../wire/listing.ts';
import type { ProcessorOperation } from '../wire/operations.ts';
import type { Refusal } from '../wire/refusal.ts';
import { readMark, withRequest } from '../wire/request-marks.ts';
import { done, nullIfMissing, refused, sinceCreation } from '../wire/responses.ts';
import { creationMetadata } from '../wire/wire-metadata.ts';
import { withKnownLinks } from '../wire/wire-object.ts';
import { mapRefundResponse } from './map-refund.ts';

export function createRefundCalls(context: AdapterContext): RefundCalls {
  const { stripe, call } = context;
  const map = createMapping(context);
  const mapListed = (value: unknown, asOf: AsOf) => map('refunds.list', value, asOf);
  // The listing is for one payment, so all of its refunds belong to that payment.
  const mapOfPayment = (value: unknown, payment_intent: string, asOf: AsOf): RefundFacts =>
    mapListed(withKnownLinks(value, { payment_intent }), asOf);
  return {
    create: ({ id, mark, processorPaymentIntentId, amount, reason, idempotencyKey }) =>
      call.write('refunds.create', {
        idempotencyKey,
        send: (options) =>
          stripe.refunds.create(
            {
              payment_intent: processorPaymentIntentId,
              amount,
              ...(reason === null ? {} : { reason }),
              metadata: creationMetadata({ id, mark }),
            },
            options,
          ),
        take: (response, asOf) => {
          const known = { localId: id, payment_intent: processorPaymentIntentId };
          const facts = map('refunds.create', withKnownLinks(response, known), sinceCreation(response, asOf));
          return done(facts, response);
        },
        refused: (refusal) => {
          if (refusal.code === 'resource_missing') return refused('missing', refusal);
          return isAboutState(refusal) ? refused('wrong_state', refusal) : undefined;
        },
      }),

    read: (processorRefundId) =>
      call.read('refunds.read', {
        send: (options) => stripe.refunds.retrieve(processorRefundId, {}, options),
        take: (response, asOf) => map('refunds.read', withKnownLinks(response, { localId: null }), asOf),
        refused: nullIfMissing,
      }),

    find: ({ mark, since, processorPaymentIntentId: payment_intent }) => {
      const fetch = fetchFrom(stripe.refunds, { payment_intent, ...createdSince(since) });
      return findFirst(context, 'refunds.list', fetch, (value, asOf) => {
        const found = readMark(value, mark);
        return found && withRequest(found, mapOfPayment(value, payment_intent, asOf));
      });
    },

    listOfPayment: (payment_intent) =>
      mapAll(context, 'refunds.list', fetchFrom(stripe.refunds, { payment_intent }), (value, asOf) =>
        mapOfPayment(value, payment_intent, asOf),
      ),

    list: (place) => {
      const fetch = fetchFrom(stripe.refunds, { expand: ['data.payment_intent'] });
      return mapPages(context, 'refunds.list', fetch, mapListed, place);
    },
  };
}

function createMapping({ logger }: AdapterContext) {
  return (operation: ProcessorOperation, value: unknown, asOf: AsOf): RefundFacts =>
    mapRefundResponse(value, asOf, (reason) => logger.warn({ operation, reason }, 'refund status unknown'));
}

/**
 * Till never requests more than the mirror shows as refundable for a succeeded payment. So a refusal because of the
 * state or the amount means that the mirror is stale. The refusal of an amount that is too large has no code.
 */
function isAboutState({ code, param }: Refusal): boolean {
  return code === null ? param !== 'reason' : stateCodes.includes(code);
}

const stateCodes: readonly string[] = [
  'amount_too_large',
  'charge_already_refunded',
  'charge_disputed',
  'charge_not_refundable',
  'payment_intent_unexpected_state',
  'refund_disputed_payment',
];
