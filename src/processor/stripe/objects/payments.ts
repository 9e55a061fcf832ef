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
      take: (response, asOf) => withSecret(response, known, asOf),
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
        take: (response, asOf) => {
          const known = { localId: id, customer: processorCustomerId };
          const made = withSecret(response, known, sinceCreation(response, asOf));
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
        take: (response, asOf) => done(mapPayment(withKnownLinks(response, noLinks), asOf)),
        // The call carries none of the caller's values, so any other refusal is about the payment's state.
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

/** A payment that is read or canceled already has a row, with its links. */
const noLinks: KnownLinks = { localId: null, customer: null };

function withSecret(response: unknown, known: KnownLinks, asOf: AsOf): PaymentWithSecret {
  return {
    payment: mapPayment(withKnownLinks(response, known), asOf),
    clientSecret: clientSecretOfPayment(response),
  };
}
