import { type CheckoutFacts, type CheckoutNotice, checkoutModes } from '#core/model/checkout.ts';
import type { AsOf } from '#core/model/facts.ts';
import { noMetadata } from '#core/model/metadata.ts';
import { checkoutTermsOf, metadataOf, trialDaysOf } from '../wire/wire-metadata.ts';
import { WireObject } from '../wire/wire-object.ts';

const statuses = { open: 'open', complete: 'completed', expired: 'expired' } as const;

const paymentStatuses = { unpaid: 'unpaid', paid: 'paid', no_payment_required: 'notRequired' } as const;

/** A session with the expansions of `expand` in checkouts.ts. */
export function mapCheckout(value: unknown, asOf: AsOf): CheckoutFacts {
  const session = parse(value);
  const mode = session.oneOf('mode', checkoutModes);
  const status = session.translate('status', statuses);
  const setup = session.optional('object', 'setup_intent');
  return {
    processorCheckoutSessionId: session.id(),
    localId: session.localId(),
    processorCustomerId: session.optional('reference', 'customer'),
    mode,
    status,
    paymentStatus: session.translate('payment_status', paymentStatuses),
    amount: mode === 'setup' ? null : session.amountOrNull('amount_total'),
    currency: mode === 'setup' ? null : session.optional('currency', 'currency'),
    items: mode === 'subscription' ? session.list('line_items').map(itemOf) : [],
    trialPeriodDays: trialDaysOf(session),
    terms: checkoutTermsOf(session),
    expiresAt: session.moment('expires_at'),
    processorSubscriptionId: session.optional('reference', 'subscription'),
    processorInvoiceId: session.optional('reference', 'invoice'),
    processorPaymentIntentId: session.optional('reference', 'payment_intent'),
    paymentMethodId: setup?.optional('reference', 'payment_method') ?? null,
    completedAt: status === 'completed' ? completionOf(session) : null,
    metadata: metadataOf(session) ?? noMetadata,
    createdAt: session.createdAt(asOf.earliest),
    asOf,
  };
}

/** A session in an event or a list, which do not contain everything. */
export function mapCheckoutNotice(value: unknown): CheckoutNotice {
  const session = parse(value);
  return { processorCheckoutSessionId: session.id(), localId: session.optionalLocalId() };
}

export function mapListedCheckout(value: unknown): CheckoutNotice {
  return { ...mapCheckoutNotice(value), status: parse(value).translate('status', statuses) };
}

export function checkoutUrlOf(value: unknown): string | null {
  const session = parse(value);
  return session.optionalText('status') === 'open' ? session.optionalText('url') : null;
}

function parse(value: unknown): WireObject {
  return WireObject.parse(value, 'session').expectKind('checkout.session');
}

function itemOf(line: WireObject): CheckoutFacts['items'][number] {
  return {
    processorPriceId: line.reference('price'),
    quantity: line.optional('wholeNumber', 'quantity') ?? 1,
  };
}

/**
 * A session does not show when it was completed. Its subscription, charge or set-up attempt is created at that moment.
 */
function completionOf(session: WireObject): Date | null {
  const charge = session.optional('object', 'payment_intent')?.optional('object', 'latest_charge');
  const setup = session.optional('object', 'setup_intent')?.optional('object', 'latest_attempt');
  const result = session.optional('object', 'subscription') ?? charge ?? setup;
  return result?.optional('moment', 'created') ?? null;
}
