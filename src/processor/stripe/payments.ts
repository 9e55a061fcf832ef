import type { Stripe } from 'stripe';
import type { PaymentCalls, PaymentWithSecret } from '../processor.ts';
import type { AdapterContext } from './adapter-context.ts';
import { done, isMissing, missing, refused } from './attempt.ts';
import { createdSince, type Fetch, findByLocalId, mapPages } from './listing.ts';
import { clientSecretOfPayment, mapPayment } from './map-payment.ts';
import { localIdKey } from './wire-object.ts';

export function createPaymentCalls(context: AdapterContext): PaymentCalls {
  const { stripe, call } = context;
  const fetchList =
    (filter: Stripe.PaymentIntentListParams): Fetch =>
    (page, options) =>
      stripe.paymentIntents.list({ ...filter, ...page }, options);

  const read: PaymentCalls['read'] = (processorPaymentIntentId) =>
    call('payments.read', {
      kind: 'read',
      send: (options) => stripe.paymentIntents.retrieve(processorPaymentIntentId, {}, options),
      take: withSecret,
      refused: (refusal) => (isMissing(refusal) ? null : undefined),
    });

  return {
    create: ({ id, processorCustomerId, amount, currency, idempotencyKey }) =>
      call('payments.create', {
        kind: 'write',
        send: (options) =>
          stripe.paymentIntents.create(
            {
              customer: processorCustomerId,
              amount,
              currency,
              automatic_payment_methods: { enabled: true },
              metadata: { [localIdKey]: id },
            },
            { ...options, idempotencyKey },
          ),
        take: withSecret,
      }),

    read,

    cancel: ({ processorPaymentIntentId, idempotencyKey }) =>
      call('payments.cancel', {
        kind: 'write',
        send: (options) =>
          stripe.paymentIntents.cancel(processorPaymentIntentId, {}, { ...options, idempotencyKey }),
        take: (answer) => done(mapPayment(answer)),
        // The call has no values of the caller's, so whatever else is refused is refused because of the state.
        refused: (refusal) => missing(refusal) ?? refused('wrong_state', refusal),
      }),

    find: async ({ localId, since, processorCustomerId }) => {
      const fetch = fetchList({ customer: processorCustomerId, ...createdSince(since) });
      const id = await findByLocalId(context, 'payments.list', fetch, localId);
      return id === null ? null : read(id);
    },

    list: ({ processorCustomerId }) =>
      mapPages(
        context,
        'payments.list',
        fetchList(processorCustomerId === undefined ? {} : { customer: processorCustomerId }),
        (value) => mapPayment(value),
      ),
  };
}

function withSecret(answer: unknown): PaymentWithSecret {
  return { payment: mapPayment(answer), clientSecret: clientSecretOfPayment(answer) };
}
