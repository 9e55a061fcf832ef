import { frameTitles, StripeElement } from './element.js';
import { IntegrationError, notSupported } from './integration-error.js';

/** @typedef {import('./controller.js').Controller} Controller */

/** The elements of one form. Elements of other types than these are not supported. */
export class StripeElements {
  options;
  /** Whether the page called `submit`, which it must do before it uses elements without a client secret. */
  isSubmitted = false;
  #controller;
  /** @type {StripeElement[]} */
  #elements = [];
  /** @type {(() => void)[]} */
  #updateHandlers = [];

  /** @param {Controller} controller @param {Record<string, any>} [options] */
  constructor(controller, options = {}) {
    const secret = options['clientSecret'];
    if (secret !== undefined && !/^(pi|seti)_\w+_secret_\w+$/.test(secret))
      throw new IntegrationError(
        `Invalid value for elements(): clientSecret should be a client secret of the form \${id}_secret_\${secret}. You specified: ${secret}.`,
      );
    this.#controller = controller;
    this.options = options;
  }

  /** @param {string} type @param {Record<string, any>} [options] */
  create(type, options = {}) {
    if (!isElementType(type)) throw notSupported(`The element "${type}"`);
    if (type === 'address' && !['billing', 'shipping'].includes(options['mode']))
      throw new IntegrationError("You must supply options.mode. mode must be 'billing' or 'shipping'.");
    if (this.getElement(type, options) !== null)
      throw new IntegrationError(`Can only create one Element of type ${type}.`);
    const element = new StripeElement(type, options, this);
    this.#elements.push(element);
    this.#refreshPayment();
    return element;
  }

  /** @param {StripeElement} element */
  forget(element) {
    this.#elements = this.#elements.filter((other) => other !== element);
    this.#refreshPayment();
  }

  /** What the frames of all elements get. */
  get settings() {
    const hasAddress = this.getElement('address', { mode: 'billing' }) !== null;
    return { appearance: this.options['appearance'], asksBilling: !hasAddress };
  }

  /**
   * The element of a type, or of a component of React.
   * @param {string | { __elementType?: string }} type
   * @param {Record<string, any>} [options]
   */
  getElement(type, options = {}) {
    const name = typeof type === 'string' ? type : type.__elementType;
    const mode = options['mode'];
    const found = this.#elements.find(
      (element) => element.type === name && (mode === undefined || element.options['mode'] === mode),
    );
    return found ?? null;
  }

  /** @param {Record<string, any>} options */
  async update(options) {
    this.options = { ...this.options, ...options };
    for (const element of this.#elements) element.refresh();
    for (const handler of this.#updateHandlers) handler();
  }

  /** @param {string} event @param {() => void} handler */
  on(event, handler) {
    if (event === 'update-end') this.#updateHandlers.push(handler);
  }

  async fetchUpdates() {
    if (this.secret === undefined)
      throw new IntegrationError('elements.fetchUpdates() needs a clientSecret.');
    const { error } = await this.#controller.ask({
      method: 'GET',
      path: intentPath(this.secret),
      params: { client_secret: this.secret },
    });
    return error === undefined ? {} : { error };
  }

  /** Validates the fields, and shows what is wrong with them. */
  async submit() {
    const { error } = await this.#controller.ask({ elements: this.formIds });
    this.isSubmitted = error === undefined;
    return error === undefined ? { selectedPaymentMethod: 'card' } : { error };
  }

  /** @type {string | undefined} */
  get secret() {
    return this.options['clientSecret'];
  }

  /** The elements whose fields a confirmation sends. */
  get formIds() {
    return this.idsOf(['payment', 'linkAuthentication', 'address']);
  }

  get hasPayment() {
    return this.getElement('payment')?.isMounted === true;
  }

  /** A billing address of its own replaces the country and the postal code of the payment. */
  #refreshPayment() {
    this.getElement('payment')?.refresh();
  }

  /**
   * The mounted elements of these types.
   * @param {string[]} types
   */
  idsOf(types) {
    return this.#elements
      .filter((element) => types.includes(element.type) && element.isMounted)
      .map(({ id }) => id);
  }
}

/**
 * Where the intent of a client secret is in the API.
 * @param {string} secret
 */
export function intentPath(secret) {
  const id = secret.slice(0, secret.indexOf('_secret_'));
  return `${id.startsWith('seti_') ? 'setup_intents' : 'payment_intents'}/${id}`;
}

/** @param {string} type @returns {type is import('./element.js').ElementType} */
function isElementType(type) {
  return Object.hasOwn(frameTitles, type);
}
