import type Stripe from 'stripe';
import { type Shop, stripe } from './shop.ts';

/** What a call of the library returns, as far as tests look at it. */
export interface Result {
  readonly paymentIntent?: Stripe.PaymentIntent;
  readonly setupIntent?: Stripe.SetupIntent;
  readonly paymentMethod?: Stripe.PaymentMethod;
  readonly token?: Stripe.Token;
  readonly confirmationToken?: Stripe.ConfirmationToken;
  readonly error?: {
    readonly type: string;
    readonly code?: string;
    readonly decline_code?: string;
    readonly message: string;
    readonly payment_intent?: Stripe.PaymentIntent;
    readonly setup_intent?: Stripe.SetupIntent;
  };
}

/** An intent to confirm, and its client secret. */
export async function newPayment(
  params: Partial<Stripe.PaymentIntentCreateParams> = {},
): Promise<{ readonly id: string; readonly secret: string }> {
  const intent = await stripe.paymentIntents.create({ amount: 500, currency: 'usd', ...params });
  return { id: intent.id, secret: String(intent.client_secret) };
}

export async function newSetup(
  params: Stripe.SetupIntentCreateParams = {},
): Promise<{ readonly id: string; readonly secret: string }> {
  const intent = await stripe.setupIntents.create(params);
  return { id: intent.id, secret: String(intent.client_secret) };
}

/**
 * Creates elements in a plain page, mounts each in the container with the id of its type, and waits until all are
 * ready. The page then has `elements`, `element` (the last one) and `events`.
 */
export async function mount(
  { run }: Shop,
  types: readonly string[],
  { group = {}, options = {} }: { readonly group?: object; readonly options?: object } = {},
): Promise<void> {
  await run(`
    globalThis.elements = stripe.elements(${JSON.stringify(group)});
    globalThis.events = [];
    const ready = ${JSON.stringify(types)}.map((type) => {
      const container = document.createElement('div');
      container.id = type;
      document.querySelector('#element').append(container);
      globalThis.element = elements.create(type, ${JSON.stringify(options)});
      for (const event of ['change', 'focus', 'blur', 'escape', 'loaderror'])
        element.on(event, (details) => events.push([event, details]));
      return new Promise((resolve) => element.on('ready', resolve).mount('#' + type));
    });
    await Promise.all(ready);`);
}

/** The requests that the page and its frames send to the API from now on. */
export function watchRequests({ page }: Shop): string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/v1/')) sent.push(`${request.method()} ${pathname}`);
  });
  return sent;
}
