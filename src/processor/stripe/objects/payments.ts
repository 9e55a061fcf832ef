import type { Stripe } from 'stripe';
import type { AsOf } from '../../../mirrors/facts.ts';
import type { PaymentCalls, PaymentWithSecret } from '../../processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { sinceCreation } from '../wire/answer-time.ts';
import { done, isMissing, missing, refused } from '../wire/attempt.ts';
import { warnOfMissingSecret } from '../wire/client-secret.ts';
import { createdSince, type Fetch, findByLocalId, mapPages } from '../wire/listing.ts';
import { type KnownLinks, localIdKey, withKnownLinks } from '../wire/wire-object.ts';
import { clientSecretOfPayment, mapPayment } from './map-payment.ts';

export function createPaymentCalls(context: AdapterContext): PaymentCalls {
  const { stripe, call, logger } = context;
  const fetchList =
    (filter: Stripe.PaymentIntentListParams): Fetch =>
    (page, options) =>
      stripe.paymentIntents.list({ ...filter, ...page }, options);

  const read = (processorPaymentIntentId: string, known: KnownLinks) =>
    call('payments.read', {
      kind: 'read',
      send: (options) => stripe.paymentIntents.retrieve(processorPaymentIntentId, {}, options),
      take: (answer, asOf) => withSecret(answer, known, asOf),
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
        take: (answer, asOf) => {
          const known = { localId: id, customer: processorCustomerId };
          const made = withSecret(answer, known, sinceCreation(answer, asOf));
          if (made.clientSecret === null)
            warnOfMissingSecret(logger, 'payments.create', made.payment.processorPaymentIntentId);
          return made;
        },
      }),

    read: (processorPaymentIntentId) => read(processorPaymentIntentId, noLinks),

    cancel: ({ processorPaymentIntentId, idempotencyKey }) =>
      call('payments.cancel', {
        kind: 'write',
        send: (options) =>
          stripe.paymentIntents.cancel(processorPaymentIntentId, {}, { ...options, idempotencyKey }),
        take: (answer, asOf) => done(mapPayment(withKnownLinks(answer, noLinks), asOf)),
        // The call has no values of the caller's, so whatever else is refused is refused because of the state.
        refused: (refusal) => missing(refusal) ?? refused('wrong_state', refusal),
      }),

    find: async ({ localId, since, processorCustomerId }) => {
      const fetch = fetchList({ customer: processorCustomerId, ...createdSince(since) });
      const id = await findByLocalId(context, 'payments.list', fetch, localId);
      return id === null ? null : read(id, { localId, customer: processorCustomerId });
    },

    list: ({ processorCustomerId }) =>
      mapPages(
        context,
        'payments.list',
        fetchList(processorCustomerId === undefined ? {} : { customer: processorCustomerId }),
        mapPayment,
      ),
  };
}

/** The row of a payment that is read or canceled exists, and has its links. */
const noLinks: KnownLinks = { localId: null, customer: null };

function withSecret(answer: unknown, known: KnownLinks, asOf: AsOf): PaymentWithSecret {
  return {
    payment: mapPayment(withKnownLinks(answer, known), asOf),
    clientSecret: clientSecretOfPayment(answer),
  };
}
