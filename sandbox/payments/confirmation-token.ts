import type { Store } from '../state/store.ts';
import type { ConfirmationToken } from '../wire/objects.ts';
import { badParam, exclusiveParams } from '../wire/wire-error.ts';
import type { Intent } from './intent.ts';

/** As at the processor: 12 hours. */
export const confirmationTokenLifeSeconds = 43_200;

/** The parameters of a confirmation that a confirmation token can contain. */
interface Confirmation {
  readonly confirmation_token?: string | undefined;
  readonly payment_method?: string | undefined;
  readonly payment_method_data?: object | undefined;
  readonly return_url?: string | undefined;
  readonly setup_future_usage?: 'off_session' | 'on_session' | null | undefined;
  readonly shipping?: object | null | undefined;
  readonly use_stripe_sdk?: boolean | undefined;
}

/** Adds what the confirmation token of a request contains to its parameters, and marks the token as used. */
export function withConfirmationToken<T extends Confirmation>(
  store: Store,
  intent: Pick<Intent, 'id' | 'object'>,
  params: T,
): T {
  if (params.confirmation_token === undefined) return params;
  if (params.payment_method !== undefined || params.payment_method_data !== undefined)
    throw exclusiveParams('confirmation_token', 'payment_method', 'payment_method_data');
  const token = store.confirmationTokens.existing(params.confirmation_token, 'confirmation_token');
  if (token.payment_intent !== null || token.setup_intent !== null)
    throw badParam(
      'The ConfirmationToken has already been used to confirm a PaymentIntent or SetupIntent.',
      'confirmation_token',
    );
  if ((token.expires_at ?? 0) <= store.worldNow())
    throw badParam('The ConfirmationToken has expired. Create a new one.', 'confirmation_token');
  const used: Partial<ConfirmationToken> = { [intent.object]: intent.id };
  store.change(store.confirmationTokens, token, used);
  return {
    ...params,
    payment_method: token.payment_method,
    return_url: params.return_url ?? token.return_url ?? undefined,
    setup_future_usage: params.setup_future_usage ?? token.setup_future_usage ?? undefined,
    shipping: params.shipping ?? token.shipping ?? undefined,
    use_stripe_sdk: params.use_stripe_sdk ?? (token.use_stripe_sdk || undefined),
  };
}
