import { Controller } from './controller.js';
import { StripeElement } from './element.js';
import { StripeElements } from './elements.js';
import { checkoutPath, EmbeddedCheckout } from './embedded-checkout.js';
import { IntegrationError, notSupported, refusingOthers } from './integration-error.js';
import { checkedSecret, Intents, leaveTo, returnTo } from './intents.js';

/**
 * The object that `Stripe(key)` returns. Mistakes of the page throw an `IntegrationError`. Everything else that goes
 * wrong is a result with an `error`.
 */
class StripeClient {
  #key;
  #controller;
  #intents;
  /**
   * The groups behind the proxies that the page has.
   * @type {WeakMap<object, StripeElements>}
   */
  #groups = new WeakMap();

  /** @param {{ key: string, headers: Record<string, string> }} settings */
  constructor(settings) {
    this.#key = settings.key;
    this.#controller = new Controller(settings);
    this.#intents = new Intents(this.#controller);
  }

  /** @param {Record<string, any>} [options] */
  elements(options) {
    const group = new StripeElements(this.#controller, options);
    const shown = refusingOthers(group, 'elements');
    this.#groups.set(shown, group);
    return shown;
  }

  /** @param {any} options */
  confirmPayment(options) {
    return this.#confirmForm('stripe.confirmPayment()', options, /^pi_/);
  }

  /** @param {any} options */
  confirmSetup(options) {
    return this.#confirmForm('stripe.confirmSetup()', options, /^seti_/);
  }

  /** @param {string} secret @param {any} [data] @param {{ handleActions?: boolean }} [options] */
  confirmCardPayment(secret, data, options) {
    return this.#confirmCard(checkedSecret('stripe.confirmCardPayment', secret, /^pi_/), data, options);
  }

  /** @param {string} secret @param {any} [data] @param {{ handleActions?: boolean }} [options] */
  confirmCardSetup(secret, data, options) {
    return this.#confirmCard(checkedSecret('stripe.confirmCardSetup', secret, /^seti_/), data, options);
  }

  /** @param {string} secret */
  handleCardAction(secret) {
    return this.#intents.handle('handleCardAction', checkedSecret('stripe.handleCardAction', secret, /^pi_/));
  }

  /** @param {{ clientSecret: string }} options */
  handleNextAction(options) {
    const secret = checkedSecret('stripe.handleNextAction', options?.clientSecret);
    return this.#intents.handle('handleNextAction', secret);
  }

  /** @param {string} secret */
  retrievePaymentIntent(secret) {
    return this.#intents.retrieve(checkedSecret('stripe.retrievePaymentIntent', secret, /^pi_/));
  }

  /** @param {string} secret */
  retrieveSetupIntent(secret) {
    return this.#intents.retrieve(checkedSecret('stripe.retrieveSetupIntent', secret, /^seti_/));
  }

  /**
   * Takes the current form (one object) and the older one (type, element, data).
   * @param {any} options
   * @param {any} [element]
   * @param {any} [data]
   */
  createPaymentMethod(options, element, data) {
    const given = typeof options === 'string' ? { type: options, card: element, ...data } : options;
    const request = /** @type {const} */ ({ method: 'POST', path: 'payment_methods', place: 'root' });
    if (given?.elements !== undefined) {
      const { elements } = this.#checkedForm('stripe.createPaymentMethod()', given.elements);
      return this.#create('paymentMethod', { ...request, params: given.params, elements });
    }
    if (given?.element !== undefined)
      return this.#create('paymentMethod', {
        ...request,
        params: given.params,
        elements: cardIds(given.element),
      });
    if (given?.type !== 'card') throw notSupported(`A payment method of type "${given?.type}"`);
    const { card, ...params } = given;
    if (card instanceof StripeElement)
      return this.#create('paymentMethod', { ...request, params, elements: cardIds(card) });
    return this.#create('paymentMethod', { method: 'POST', path: 'payment_methods', params: given });
  }

  /** @param {any} source A card element, or `cvc_update`. @param {any} [data] */
  createToken(source, data) {
    const request = /** @type {const} */ ({ method: 'POST', path: 'tokens', place: 'card' });
    if (source === 'cvc_update')
      return this.#create('token', { ...request, elements: mountedIds(data, ['cardCvc']) });
    if (!(source instanceof StripeElement)) throw notSupported(`A token of type "${source}"`);
    return this.#create('token', { ...request, params: data, elements: cardIds(source) });
  }

  /** @param {{ elements: StripeElements, params?: object }} options */
  createConfirmationToken({ elements, params = {} }) {
    const fields = this.#checkedForm('stripe.createConfirmationToken()', elements);
    return this.#create('confirmationToken', {
      method: 'POST',
      path: 'confirmation_tokens',
      params: { ...params, use_stripe_sdk: true },
      ...fields,
    });
  }

  /** @param {{ sessionId?: string }} options */
  redirectToCheckout(options) {
    if (typeof options?.sessionId !== 'string')
      throw notSupported('stripe.redirectToCheckout() without a sessionId');
    return leaveTo(`${sandboxUrl}${checkoutPath(this.#key, options.sessionId)}`);
  }

  /** @param {{ clientSecret?: string, fetchClientSecret?: () => Promise<string>, onComplete?: () => void }} options */
  async createEmbeddedCheckoutPage({ clientSecret, fetchClientSecret, onComplete }) {
    const secret = clientSecret ?? (await fetchClientSecret?.());
    const [id] = checkedSecret('stripe.createEmbeddedCheckoutPage()', secret, /^cs_test_/).split('_secret_');
    const path = `${checkoutPath(this.#key, id ?? '')}?secret=${secret}`;
    return new EmbeddedCheckout(path, onComplete);
  }

  /**
   * The older name.
   * @param {Parameters<StripeClient['createEmbeddedCheckoutPage']>[0]} options
   */
  initEmbeddedCheckout(options) {
    return this.createEmbeddedCheckoutPage(options);
  }

  /** The browser can pay with no wallet here. */
  paymentRequest() {
    const request = {
      canMakePayment: async () => null,
      show: () => {
        throw notSupported('paymentRequest.show()');
      },
      abort: () => {},
      isShowing: () => false,
      update: () => {},
      on: () => request,
      once: () => request,
      off: () => request,
    };
    return request;
  }

  registerAppInfo() {}

  /** The official packages tell the library their versions. */
  _registerWrapper() {}

  /** @param {string} call @param {any} options @param {RegExp} kind */
  #confirmForm(call, options, kind) {
    const { elements, confirmParams = {}, redirect = 'always' } = options ?? {};
    const group = elements === undefined ? undefined : this.#groupOf(call, elements);
    const given = options?.clientSecret ?? group?.secret;
    if (given === undefined)
      throw new IntegrationError(`You must pass in a clientSecret when calling ${call}.`);
    const secret = checkedSecret(call, given, kind);
    if (redirect !== 'if_required' && !URL.canParse(confirmParams.return_url ?? ''))
      throw new IntegrationError(
        `${call}: the \`confirmParams.return_url\` argument must be a URL unless passing \`redirect: "if_required"\`.`,
      );
    const isChosen =
      confirmParams.payment_method !== undefined || confirmParams.confirmation_token !== undefined;
    const fields = group === undefined || isChosen ? undefined : this.#checkedForm(call, elements);
    const confirmed = async () => {
      const result = await this.#confirmOrContinue(secret, confirmParams, fields, isChosen);
      const settled = await this.#intents.act(secret, result);
      if (settled.error !== undefined || redirect === 'if_required') return settled;
      return returnTo(confirmParams.return_url, settled);
    };
    return confirmed();
  }

  /** @param {string} secret @param {any} data @param {{ handleActions?: boolean }} [options] */
  #confirmCard(secret, data = {}, { handleActions = true } = {}) {
    const { payment_method: method, payment_method_options: more, ...params } = data;
    // A saved card has no security code in the sandbox, so a new one only has to be complete.
    const cvc = more?.card?.cvc;
    const checks = cvc instanceof StripeElement ? mountedIds(cvc, ['cardCvc']) : [];
    const isNew = typeof method === 'object' && method !== null;
    const card = isNew && method.card instanceof StripeElement ? method.card : undefined;
    const fields =
      card === undefined
        ? checks.length === 0
          ? undefined
          : { elements: checks }
        : { elements: cardIds(card), place: /** @type {const} */ ('payment_method_data') };
    const { card: _card, ...details } = isNew ? method : {};
    const sent = {
      ...params,
      ...(isNew
        ? { payment_method_data: card === undefined ? { type: 'card', ...method } : details }
        : { payment_method: method }),
    };
    const confirmed = this.#confirmOrContinue(secret, sent, fields, method !== undefined);
    return handleActions ? confirmed.then((result) => this.#intents.act(secret, result)) : confirmed;
  }

  /**
   * Confirms, unless the server has confirmed already and only the customer's action is missing.
   * @param {string} secret
   * @param {object} params
   * @param {Parameters<Intents['confirm']>[2]} fields
   * @param {boolean} isChosen
   */
  async #confirmOrContinue(secret, params, fields, isChosen) {
    if (fields === undefined && !isChosen) {
      const current = await this.#intents.retrieve(secret);
      const status = (current.paymentIntent ?? current.setupIntent)?.status;
      if (status === 'requires_action' || current.error !== undefined) return current;
    }
    return this.#intents.confirm(secret, params, fields);
  }

  /** @param {string} name @param {Parameters<Controller['ask']>[0]} request */
  async #create(name, request) {
    const { error, ...created } = await this.#controller.ask(request);
    return error === undefined ? { [name]: created } : { error };
  }

  /**
   * What to send of a form: its payment element, its e-mail and its address.
   * @param {string} call
   * @param {StripeElements} elements
   */
  #checkedForm(call, elements) {
    const group = this.#groupOf(call, elements);
    if (!group.hasPayment)
      throw new IntegrationError(
        `Invalid value for ${call}: elements should have a mounted Payment Element or Express Checkout Element.`,
      );
    if (group.secret === undefined && !group.isSubmitted)
      throw new IntegrationError(
        `elements.submit() must be called before ${call}. Call elements.submit() as soon as your customer presses pay, prior to any asynchronous work.`,
      );
    return { elements: group.formIds, place: /** @type {const} */ ('payment_method_data') };
  }
  /** @param {string} call @param {object} elements */
  #groupOf(call, elements) {
    const group = this.#groups.get(elements);
    if (group !== undefined) return group;
    throw new IntegrationError(
      `Invalid value for ${call}: elements should be an object of stripe.elements().`,
    );
  }
}

/**
 * The elements of a card: one, or three of the same form.
 * @param {StripeElement} element
 */
function cardIds(element) {
  const ids = mountedIds(element, ['card', 'cardNumber']);
  return element.type === 'card' ? ids : element.group.idsOf(['cardNumber', 'cardExpiry', 'cardCvc']);
}

/** @param {StripeElement} element @param {string[]} types */
function mountedIds(element, types) {
  if (!(element instanceof StripeElement) || !types.includes(element.type))
    throw new IntegrationError(`A mounted element of type ${types.join(' or ')} is needed here.`);
  if (!element.isMounted)
    throw new IntegrationError(
      'We could not retrieve data from the specified Element. Please make sure the Element you are attempting to use is still mounted.',
    );
  return [element.id];
}

/** @param {string} key @param {{ apiVersion?: string, stripeAccount?: string }} [options] */
function Stripe(key, options = {}) {
  if (typeof key !== 'string' || key === '')
    throw new IntegrationError('Please call Stripe() with your publishable key.');
  if (/^[sr]k_/.test(key))
    throw new IntegrationError(
      'You should not use your secret key with Stripe.js. Please pass a publishable key instead.',
    );
  if (!key.startsWith('pk_test_'))
    throw new IntegrationError('The sandbox takes only publishable keys that start with pk_test_.');
  const { apiVersion, stripeAccount } = options;
  const headers = {
    ...(apiVersion === undefined ? {} : { 'stripe-version': apiVersion }),
    ...(stripeAccount === undefined ? {} : { 'stripe-account': stripeAccount }),
  };
  return refusingOthers(new StripeClient({ key, headers }), 'stripe');
}

/** The official package compares it with the version that it expects. */
Stripe.version = libraryVersion;

Reflect.set(window, 'Stripe', Stripe);
