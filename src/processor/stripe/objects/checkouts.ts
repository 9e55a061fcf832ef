import type { Stripe } from 'stripe';
import type { AsOf } from '#core/model/facts.ts';
import type {
  CheckoutCalls,
  CheckoutPage,
  CheckoutWithUrl,
  NewCheckout,
  SoldPayment,
  SoldSubscription,
} from '../../port/checkout-calls.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { createdSince, fetchFrom, mapPages } from '../wire/listing.ts';
import { findMarked, withRequest } from '../wire/request-marks.ts';
import { done, missingOrWrongState, nullIfMissing, sinceCreation } from '../wire/responses.ts';
import { checkoutMetadata, creationMetadata, resultMetadata } from '../wire/wire-metadata.ts';
import { type KnownLinks, noLinks, withKnownLinks } from '../wire/wire-object.ts';
import { checkoutUrlOf, mapCheckout, mapListedCheckout } from './map-checkout.ts';

/** The items, and the results, which show when the checkout was completed and which card was saved. */
const expand = ['line_items', 'subscription', 'payment_intent.latest_charge', 'setup_intent.latest_attempt'];

type Params = Stripe.Checkout.SessionCreateParams;

export function createCheckoutCalls(context: AdapterContext): CheckoutCalls {
  const { stripe, call } = context;
  const read = (id: string, known: KnownLinks) =>
    call.read('checkouts.read', {
      send: (options) => stripe.checkout.sessions.retrieve(id, { expand }, options),
      take: (response, asOf) => withUrl(response, known, asOf),
      refused: nullIfMissing,
    });
  return {
    create: ({ idempotencyKey, ...checkout }) =>
      call.write('checkouts.create', {
        idempotencyKey,
        send: (options) => stripe.checkout.sessions.create(creationParams(checkout), options),
        take: (response, asOf) => {
          const known = { localId: checkout.id, customer: checkout.processorCustomerId };
          return withUrl(response, known, sinceCreation(response, asOf));
        },
      }),

    read: (processorCheckoutSessionId) => read(processorCheckoutSessionId, noLinks),

    expire: ({ processorCheckoutSessionId, idempotencyKey }) =>
      call.write('checkouts.expire', {
        idempotencyKey,
        send: (options) => stripe.checkout.sessions.expire(processorCheckoutSessionId, {}, options),
        take: () => done(null),
        refused: missingOrWrongState,
      }),

    find: async ({ mark, since, processorCustomerId: customer }) => {
      const fetch = fetchFrom(stripe.checkout.sessions, { customer, ...createdSince(since) });
      const found = await findMarked(context, 'checkouts.list', fetch, mark);
      return found && withRequest(found, await read(found.id, { localId: found.localId, customer }));
    },

    list: ({ processorCustomerId, createdSince: since, ...place }) => {
      const fetch = fetchFrom(stripe.checkout.sessions, {
        status: 'open',
        ...(processorCustomerId === undefined ? {} : { customer: processorCustomerId }),
        ...(since === undefined ? {} : createdSince(since)),
      });
      return mapPages(context, 'checkouts.list', fetch, mapListedCheckout, place);
    },
  };
}

function creationParams(checkout: Omit<NewCheckout, 'idempotencyKey'>): Params {
  const { processorCustomerId, sold, page } = checkout;
  const metadata = resultMetadata(checkout);
  return {
    mode: sold.mode,
    customer: processorCustomerId,
    metadata: { ...checkout.metadata, ...creationMetadata(checkout), ...checkoutMetadata(checkout) },
    ...pageParams(page),
    ...(sold.mode === 'subscription' ? subscriptionParams(sold, metadata) : {}),
    ...(sold.mode === 'payment' ? paymentParams(sold, metadata) : {}),
    // Other payment methods can take days, or cannot be charged without the customer.
    ...(sold.mode === 'setup'
      ? { allowed_payment_method_types: ['card'], setup_intent_data: { metadata } }
      : {}),
    expand,
  };
}

const endBehaviors = { invoice: 'create_invoice', pause: 'pause', cancel: 'cancel' } as const;

function subscriptionParams(
  { items, trialPeriodDays, trialEndWithoutCard, ...sold }: SoldSubscription,
  metadata: Record<string, string>,
): Params {
  const { processorPromotionCodeId, allowPromotionCodes } = sold;
  return {
    line_items: items.map(({ processorPriceId, quantity }) => ({ price: processorPriceId, quantity })),
    // The page saves the card of the first payment for the renewals.
    payment_method_collection: trialEndWithoutCard === undefined ? 'always' : 'if_required',
    ...(processorPromotionCodeId === undefined
      ? {}
      : { discounts: [{ promotion_code: processorPromotionCodeId }] }),
    ...(allowPromotionCodes ? { allow_promotion_codes: true } : {}),
    subscription_data: {
      metadata,
      billing_mode: { type: 'flexible' },
      ...(trialPeriodDays === 0 ? {} : { trial_period_days: trialPeriodDays }),
      ...(trialEndWithoutCard === undefined
        ? {}
        : {
            trial_settings: { end_behavior: { missing_payment_method: endBehaviors[trialEndWithoutCard] } },
          }),
    },
  };
}

function paymentParams(
  { amount, currency, description, savePaymentMethod, captureMethod }: SoldPayment,
  metadata: Record<string, string>,
): Params {
  const price_data = { currency, unit_amount: amount, product_data: { name: description } };
  return {
    line_items: [{ quantity: 1, price_data }],
    payment_intent_data: {
      metadata,
      description,
      ...(savePaymentMethod ? { setup_future_usage: 'off_session' } : {}),
      ...(captureMethod === undefined ? {} : { capture_method: captureMethod }),
    },
  };
}

function pageParams(page: CheckoutPage): Params {
  const { successUrl, cancelUrl, expiresAt, locale } = page;
  const { collectBillingAddress, collectTaxId, automaticTax } = page;
  const collectsAddress = collectBillingAddress || collectTaxId || automaticTax;
  return {
    success_url: successUrl,
    cancel_url: cancelUrl,
    ...(expiresAt === undefined ? {} : { expires_at: Math.floor(expiresAt.getTime() / 1_000) }),
    // The processor refuses a locale that it does not know.
    ...(locale === undefined ? {} : { locale: locale as NonNullable<Params['locale']> }),
    ...(collectBillingAddress ? { billing_address_collection: 'required' } : {}),
    ...(collectTaxId ? { tax_id_collection: { enabled: true } } : {}),
    ...(automaticTax ? { automatic_tax: { enabled: true } } : {}),
    // Without this, the processor refuses to collect anything for an existing customer.
    ...(collectsAddress
      ? { customer_update: { address: 'auto', ...(collectTaxId ? { name: 'auto' } : {}) } }
      : {}),
  };
}

function withUrl(response: unknown, known: KnownLinks, asOf: AsOf): CheckoutWithUrl {
  return { checkout: mapCheckout(withKnownLinks(response, known), asOf), url: checkoutUrlOf(response) };
}
