import { FrameLink, setStyle } from './frame-link.js';
import { IntegrationError } from './integration-error.js';

/** The real library's titles of frames. */
export const frameTitles = {
  payment: 'Secure payment input frame',
  card: 'Secure card payment input frame',
  cardNumber: 'Secure card number input frame',
  cardExpiry: 'Secure expiration date input frame',
  cardCvc: 'Secure CVC input frame',
  linkAuthentication: 'Secure email input frame',
  address: 'Secure address input frame',
  expressCheckout: '',
};

/** @typedef {keyof typeof frameTitles} ElementType */

const states = /** @type {const} */ (['complete', 'empty', 'focus', 'invalid']);
/** The parts of a card have no page of their own in the real library. */
const isCardPart = /^card(Number|Expiry|Cvc)$/;
let elementCount = 0;

/** One element of the page: a container with a frame, in which the customer types. */
export class StripeElement {
  id;
  group;
  type;
  options;
  /** @type {any} What the frame said last. */
  state = { empty: true, complete: false };
  /** @type {Element | null} */
  #container = null;
  /** @type {FrameLink | null} */
  #link = null;
  #hasFocus = false;
  #isDestroyed = false;
  /** @type {{ event: string, handler: (event: any) => void, once: boolean }[]} */
  #handlers = [];
  /** @type {(() => void)[]} */
  #cleanUps = [];

  /**
   * @param {ElementType} type
   * @param {Record<string, any>} options
   * @param {import('./elements.js').StripeElements} group
   */
  constructor(type, options, group) {
    elementCount += 1;
    this.id = `element-${elementCount}`;
    this.type = type;
    this.options = options;
    this.group = group;
  }

  get isMounted() {
    return this.#container?.isConnected === true;
  }

  /** @param {string | Element} target */
  mount(target) {
    if (this.#isDestroyed)
      throw new IntegrationError('This Element has already been destroyed. Please create a new one.');
    const container = typeof target === 'string' ? document.querySelector(target) : target;
    if (container === null || container === undefined)
      throw new IntegrationError(
        `The selector you specified (${target}) applies to no DOM elements that are currently on the page. Make sure the element exists on the page before calling mount().`,
      );
    if (container === this.#container && this.isMounted) return this;
    this.unmount();
    this.#container = container;
    const box = document.createElement('div');
    box.className = '__PrivateStripeElement';
    setStyle(box, { margin: '0', padding: '0', border: 'none', display: 'block', position: 'relative' });
    container.replaceChildren(box);
    this.#showState();
    this.#followLabels(container);
    if (this.type === 'expressCheckout')
      queueMicrotask(() => this.#emit('ready', { availablePaymentMethods: undefined }));
    else this.#open(box);
    return this;
  }

  unmount() {
    for (const cleanUp of this.#cleanUps.splice(0)) cleanUp();
    this.#link?.remove();
    this.#link = null;
    if (this.#container !== null) {
      for (const name of ['base', ...states]) this.#container.classList.remove(...this.#classes(name));
      this.#container.replaceChildren();
    }
    this.#container = null;
    this.state = { empty: true, complete: false };
    return this;
  }

  destroy() {
    this.unmount();
    this.#isDestroyed = true;
    this.group.forget(this);
    return this;
  }

  /** @param {Record<string, any>} options */
  update(options) {
    this.options = { ...this.options, ...options };
    this.refresh();
    this.#showState();
    return this;
  }

  /** Sends the options again, after a change of them or of the other elements. */
  refresh() {
    this.#link?.send({ type: 'options', options: this.options, ...this.group.settings });
  }

  focus() {
    this.#link?.frame.contentWindow?.focus();
    this.#link?.send({ type: 'focus' });
    return this;
  }

  blur() {
    this.#link?.send({ type: 'blur' });
    return this;
  }

  clear() {
    this.#link?.send({ type: 'clear' });
    return this;
  }

  collapse() {
    return this;
  }

  async getValue() {
    const { complete, value } = this.state;
    return { complete, value, isNewAddress: true };
  }

  /** @param {string} event @param {(event: any) => void} handler */
  on(event, handler) {
    this.#handlers.push({ event, handler, once: false });
    return this;
  }

  /** @param {string} event @param {(event: any) => void} handler */
  once(event, handler) {
    this.#handlers.push({ event, handler, once: true });
    return this;
  }

  /** @param {string} event @param {(event: any) => void} [handler] */
  off(event, handler) {
    this.#handlers = this.#handlers.filter(
      (entry) => entry.event !== event || (handler !== undefined && entry.handler !== handler),
    );
    return this;
  }

  /** @param {Element} box */
  #open(box) {
    const link = new FrameLink({
      file: `elements-inner-${isCardPart.test(this.type) ? 'card' : this.type}`,
      title: frameTitles[this.type],
      parameters: { componentName: this.type, elementId: this.id, version: String(libraryVersion) },
      onMessage: (message) => this.#hear(message),
      onFail: () => this.#emit('loaderror', { error: noFrame }),
    });
    this.#link = link;
    setStyle(link.frame, { height: '0' });
    link.addTo(box);
  }

  /** @param {any} message */
  async #hear(message) {
    if (message.type === 'started') return this.#start();
    if (message.type === 'height' && this.#link !== null)
      return setStyle(this.#link.frame, { height: `${message.height}px` });
    if (message.type === 'escape') return this.#emit('escape');
    if (message.type === 'focus' || message.type === 'blur') {
      this.#hasFocus = message.type === 'focus';
      this.#showState();
      return this.#emit(message.type);
    }
    if (message.type !== 'state') return;
    this.state = message.state;
    this.#showState();
    if (message.isChange) this.#emit('change', message.state);
  }

  async #start() {
    const link = this.#link;
    this.refresh();
    this.#emit('loaderstart');
    const isKnown = this.type !== 'payment' || this.group.secret === undefined;
    /** @type {{ error?: object }} */
    const { error } = isKnown ? {} : await this.group.fetchUpdates();
    if (this.#link !== link) return;
    if (error === undefined) this.#emit('ready');
    else this.#emit('loaderror', { error });
  }

  /** @param {string} event @param {object} [details] */
  #emit(event, details = {}) {
    for (const entry of [...this.#handlers]) {
      if (entry.event !== event) continue;
      if (entry.once) this.off(event, entry.handler);
      entry.handler({ elementType: this.type, ...details });
    }
  }

  #showState() {
    const { complete, empty, error } = this.state;
    const is = { complete, empty, focus: this.#hasFocus, invalid: error !== undefined };
    this.#container?.classList.add(...this.#classes('base'));
    for (const name of states)
      for (const className of this.#classes(name)) this.#container?.classList.toggle(className, is[name]);
  }

  /** @param {string} name */
  #classes(name) {
    const standard = name === 'base' ? 'StripeElement' : `StripeElement--${name}`;
    return String(this.options['classes']?.[name] ?? standard)
      .split(' ')
      .filter(Boolean);
  }

  /**
   * A click on the label of the container focuses the field in the frame.
   * @param {Element} container
   */
  #followLabels(container) {
    if (container.id === '') return;
    /** @param {Event} event */
    const follow = (event) => {
      const label = event.target instanceof Element ? event.target.closest('label') : null;
      if (label?.htmlFor === container.id) this.focus();
    };
    document.addEventListener('click', follow);
    this.#cleanUps.push(() => document.removeEventListener('click', follow));
  }
}

const noFrame = {
  type: 'api_connection_error',
  message:
    'The frame of the sandbox did not load. Is the sandbox running, and does the page allow its frames?',
};
