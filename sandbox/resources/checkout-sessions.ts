import { checkedDiscounts, paidDiscounts, reprice } from '../checkout/change.ts';
import { completeSession } from '../checkout/complete.ts';
import { checkOpen, expireSession, shownSession } from '../checkout/session.ts';
import { existingCustomer } from '../payments/customer.ts';
import { cardError } from '../payments/payment-intent.ts';
import { usablePaymentMethod } from '../payments/payment-method.ts';
import { createSetupIntent } from '../payments/setup-intent.ts';
import type { CheckoutSession, Customer } from '../wire/objects.ts';
import { type Call, operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam } from '../wire/wire-error.ts';
import { sessionObject } from './checkout-object.ts';
import {
  type CreateParams,
  checkCreation,
  createParams,
  lineFields,
  linesFrom,
  uiModeOf,
} from './checkout-params.ts';
import { pageOf, pageParams } from './listing.ts';
import { listedTypes } from './payment-method-types.ts';
import { Resource } from './resource.ts';

const sessions = new Resource('checkout_sessions', (store) => store.checkoutSessions, {
  path: 'checkout/sessions',
  show: (_, session) => shownSession(session),
});

export const checkoutSessionOperations = [
  sessions.operation('create', 'POST', createParams, (call, params) => shownSession(create(call, params))),
  sessions.retrieve(),
  sessions.operation(
    'update',
    'POST *',
    { line_items: p.array(p.object({ ...lineFields, id: p.text() }), 100), metadata: p.metadata },
    (call, params) => {
      const { store } = call;
      const before = sessions.existing(call);
      const changed = store.change(store.checkoutSessions, before, {
        metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
      });
      if (params.line_items === undefined) return shownSession(changed);
      checkOpen(before, 'updated');
      const lines = linesFrom(store, params.line_items, modeOf(before), before.terms.lines);
      return shownSession(reprice(store, changed, lines, paidDiscounts(store, before)));
    },
  ),
  sessions.operation('expire', 'POST */expire', {}, (call) =>
    shownSession(expireSession(call.store, sessions.existing(call))),
  ),
  sessions.operation('list_line_items', 'GET */line_items', pageParams, (call, params) => ({
    object: 'list',
    ...pageOf(sessions.existing(call).terms.lines, params),
    url: `/v1/checkout/sessions/${call.id}/line_items`,
  })),
  sessions.list(
    {
      ...p.each(p.text(), 'customer payment_intent payment_link subscription'),
      customer_details: p.object({ email: p.required(p.text()) }),
      status: p.oneOf('complete', 'expired', 'open'),
    },
    {
      handled: ['customer_details'],
      where: ({ customer_details: known }, { customer_details: wanted }) =>
        wanted === undefined || known?.email === wanted.email,
    },
  ),
  // The processor's own page uses these routes, and so do the triggers of its command line.
  operation({ name: 'payment_pages.retrieve', method: 'GET', path: 'payment_pages/*' }, {}, (call) =>
    shownSession(sessions.existing(call)),
  ),
  operation(
    { name: 'payment_pages.confirm', method: 'POST', path: 'payment_pages/*/confirm' },
    { payment_method: p.required(p.text()), expected_amount: p.integer() },
    (call, params) => {
      const { store } = call;
      const before = sessions.existing(call);
      if (params.expected_amount !== undefined && params.expected_amount !== (before.amount_total ?? 0))
        throw badParam('The amount of this Checkout Session has changed.', 'expected_amount');
      const method = usablePaymentMethod(store, params.payment_method, before.customer);
      const buyer = { method, details: method.billing_details };
      const { session, failure } = completeSession(store, before, buyer);
      if (failure !== null) throw cardError(failure);
      return shownSession(session);
    },
  ),
];

/** The sandbox creates sessions only in these modes. The package's type allows more. */
function modeOf({ mode }: CheckoutSession): CreateParams['mode'] {
  return mode as CreateParams['mode'];
}

function create(call: Call, params: CreateParams): CheckoutSession {
  const { store } = call;
  const uiMode = uiModeOf(call, params);
  checkCreation(params, uiMode);
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer);
  checkTaxLocation(customer, params);
  const blank = sessionObject(call, params, customer, uiMode);
  if (params.mode !== 'setup') {
    const lines = linesFrom(store, params.line_items ?? [], params.mode);
    const session = { ...blank, currency: lines[0]?.currency ?? null };
    return reprice(store, session, lines, checkedDiscounts(store, params.discounts ?? [], session, lines));
  }
  const types = listedTypes(call, params) ?? params.allowed_payment_method_types;
  if (params.currency === undefined && types === undefined)
    throw missingParam(
      'currency',
      'You must provide `currency` in `setup` mode, unless you limit the payment method types.',
    );
  const intent = createSetupIntent(store, {
    customer: blank.customer,
    description: params.setup_intent_data?.description ?? null,
    metadata: p.applyMetadata({}, params.setup_intent_data?.metadata),
  });
  return store.put(store.checkoutSessions, {
    ...blank,
    setup_intent: intent.id,
    terms: { ...blank.terms, intent: intent.id },
  });
}

function checkTaxLocation(customer: Customer | null, params: CreateParams): void {
  const { address, shipping } = params.customer_update ?? {};
  const isKnown = customer?.address != null || address === 'auto' || shipping === 'auto';
  if (customer !== null && params.automatic_tax?.enabled === true && !isKnown)
    throw badParam(
      "Automatic tax calculation in Checkout requires a valid address on the Customer. Add a valid address to the Customer or set either `customer_update[address]` to 'auto' or `customer_update[shipping]` to 'auto' to save the address entered in Checkout to the Customer.",
      'automatic_tax',
      'customer_tax_location_invalid',
    );
}
