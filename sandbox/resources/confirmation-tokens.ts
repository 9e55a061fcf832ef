import { shipping } from '../payments/address.ts';
import { confirmationTokenLifeSeconds } from '../payments/confirmation-token.ts';
import { createPaymentMethod, paymentMethodData, usablePaymentMethod } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { ConfirmationToken } from '../wire/objects.ts';
import { type Call, operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { missingParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const params = {
  payment_method: p.text(),
  payment_method_data: paymentMethodData,
  return_url: p.clearable(p.url),
  setup_future_usage: p.oneOf('off_session', 'on_session'),
  shipping: p.clearable(shipping),
};

const confirmationTokens = new Resource('confirmation_tokens', (store) => store.confirmationTokens, { show });

export const confirmationTokenOperations = [
  confirmationTokens.operation('create', 'POST', { ...params, use_stripe_sdk: p.bool }, create, {
    forBrowsers: true,
  }),
  confirmationTokens.retrieve(),
  // Servers create them only for tests.
  operation(
    {
      name: 'test_helpers.confirmation_tokens.create',
      method: 'POST',
      path: 'test_helpers/confirmation_tokens',
    },
    params,
    create,
  ),
];

function create(
  { store }: Call,
  given: p.Parsed<typeof params> & { readonly use_stripe_sdk?: boolean | undefined },
): object {
  const method =
    given.payment_method_data === undefined
      ? usablePaymentMethod(store, given.payment_method ?? missingMethod(), null)
      : createPaymentMethod(store, given.payment_method_data);
  const { allow_redisplay, billing_details, card, customer, customer_account, type } = method;
  const now = store.worldNow();
  const token = store.put(store.confirmationTokens, {
    id: store.confirmationTokens.newId(),
    object: 'confirmation_token',
    created: now,
    expires_at: now + confirmationTokenLifeSeconds,
    livemode: false,
    ...nulls('mandate_data metadata payment_intent payment_method_options setup_intent'),
    payment_method: method.id,
    payment_method_preview: {
      ...(allow_redisplay === undefined ? {} : { allow_redisplay }),
      billing_details,
      ...(card === undefined ? {} : { card }),
      customer,
      customer_account,
      type,
    },
    return_url: given.return_url ?? null,
    setup_future_usage: given.setup_future_usage ?? null,
    shipping: given.shipping ?? null,
    use_stripe_sdk: given.use_stripe_sdk ?? false,
  });
  return show(store, token);
}

function missingMethod(): never {
  throw missingParam('payment_method_data');
}

/** The payment method is hidden until the token confirms something. */
function show(_: Store, token: ConfirmationToken): object {
  const { payment_method: _hidden, ...shown } = token;
  return shown;
}
