import { challenge } from './challenge.js';
import { intentPath } from './elements.js';
import { IntegrationError } from './integration-error.js';

/** @typedef {import('./controller.js').Controller} Controller */
/** @typedef {Parameters<Controller['ask']>[0]} Fields */

/** Retrieves and confirms payment intents and setup intents. */
export class Intents {
  #controller;

  /** @param {Controller} controller */
  constructor(controller) {
    this.#controller = controller;
  }

  /** @param {string} secret @returns {Promise<any>} */
  async retrieve(secret) {
    const request = { path: intentPath(secret), params: { client_secret: secret } };
    const { error, ...intent } = await this.#controller.ask({ method: 'GET', ...request });
    return error === undefined ? named(intent) : { error };
  }

  /**
   * @param {string} secret
   * @param {object} params
   * @param {Fields} fields Which elements to send, and where to put them.
   */
  async confirm(secret, params, fields = {}) {
    const { error, ...intent } = await this.#controller.ask({
      ...fields,
      method: 'POST',
      path: `${intentPath(secret)}/confirm`,
      params: { ...params, client_secret: secret, use_stripe_sdk: true },
    });
    return error === undefined ? named(intent) : { error };
  }

  /**
   * Continues an intent that requires an action of the customer. The page of a bank that needs the whole window
   * replaces this page, so the promise stays open.
   * @param {string} secret
   * @param {any} result
   */
  async act(secret, result) {
    const action = intentOf(result)?.next_action;
    if (intentOf(result)?.status !== 'requires_action' || !action) return result;
    if (action.redirect_to_url) return leaveTo(action.redirect_to_url.url);
    await challenge(action.use_stripe_sdk.stripe_js);
    return settled(await this.retrieve(secret));
  }

  /**
   * Handles the action that an intent requires now.
   * @param {string} call
   * @param {string} secret
   */
  async handle(call, secret) {
    const result = await this.retrieve(secret);
    const intent = intentOf(result);
    if (intent === undefined || intent.status === 'requires_action') return this.act(secret, result);
    const noun = intent.object === 'setup_intent' ? 'SetupIntent' : 'PaymentIntent';
    const message = `${call}: The ${noun} supplied is not in the requires_action state.`;
    return { error: { type: 'invalid_request_error', message, [intent.object]: intent } };
  }
}

/**
 * Throws unless this is a client secret of the right kind.
 * @param {string} call
 * @param {unknown} secret
 * @param {RegExp} kind
 * @returns {string}
 */
export function checkedSecret(call, secret, kind = /^(pi|seti)_/) {
  if (typeof secret === 'string' && kind.test(secret) && /^\w+_secret_\w+$/.test(secret)) return secret;
  throw new IntegrationError(
    `Invalid value for ${call} intent secret: value should be a client secret of the form \${id}_secret_\${secret}. You specified: ${secret}.`,
  );
}

/**
 * Opens the address to which the customer returns, with what the processor adds to it.
 * @param {string} returnUrl
 * @param {any} result
 */
export function returnTo(returnUrl, result) {
  const intent = intentOf(result);
  const url = new URL(returnUrl);
  url.searchParams.set(intent.object, intent.id);
  url.searchParams.set(`${intent.object}_client_secret`, intent.client_secret);
  url.searchParams.set('redirect_status', intent.status === 'processing' ? 'pending' : 'succeeded');
  return leaveTo(url.href);
}

/** @param {string} url @returns {Promise<any>} */
export function leaveTo(url) {
  location.assign(url);
  return new Promise(() => {});
}

/** @param {any} intent */
function named(intent) {
  return intent.object === 'setup_intent' ? { setupIntent: intent } : { paymentIntent: intent };
}

/** @param {any} result */
function intentOf(result) {
  return result.paymentIntent ?? result.setupIntent;
}

/**
 * A failed authentication leaves its error in the intent.
 * @param {any} result
 */
function settled(result) {
  const intent = intentOf(result);
  const failure = intent?.last_payment_error ?? intent?.last_setup_error;
  if (intent?.status !== 'requires_payment_method' || !failure) return result;
  return { error: { ...failure, [intent.object]: intent } };
}
