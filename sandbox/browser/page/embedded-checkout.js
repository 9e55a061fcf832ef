import { FrameLink, setStyle } from './frame-link.js';
import { IntegrationError } from './integration-error.js';
import { leaveTo } from './intents.js';

/** As in the real library, a page has at most one. */
let exists = false;

/** The payment page of a checkout session, in a frame of the page. */
export class EmbeddedCheckout {
  #path;
  #onComplete;
  /** @type {FrameLink | null} */
  #link = null;

  /** @param {string} path @param {() => void} [onComplete] */
  constructor(path, onComplete = () => {}) {
    if (exists) throw new IntegrationError('You cannot have multiple Embedded Checkout objects.');
    exists = true;
    this.#path = path;
    this.#onComplete = onComplete;
  }

  /** @param {string | Element} target */
  mount(target) {
    const container = typeof target === 'string' ? document.querySelector(target) : target;
    if (container === null)
      throw new IntegrationError(`Invalid DOM element or selector provided to mount(): ${target}.`);
    this.unmount();
    const link = new FrameLink({
      path: this.#path,
      title: 'Secure payment checkout frame',
      onMessage: ({ type, height, url }) => {
        if (type === 'height') setStyle(link.frame, { height: `${height}px` });
        if (type === 'completed' && url !== '') leaveTo(url);
        else if (type === 'completed') this.#onComplete();
      },
    });
    link.frame.name = 'embedded-checkout';
    setStyle(link.frame, { height: '520px' });
    link.addTo(container);
    this.#link = link;
  }

  unmount() {
    this.#link?.remove();
    this.#link = null;
  }

  destroy() {
    this.unmount();
    exists = false;
  }
}

/**
 * The path of a payment page, which is below the path of the world that the key names.
 * @param {string} key
 * @param {string} id
 */
export function checkoutPath(key, id) {
  const world = /^pk_test_world_([\w-]+)$/.exec(key)?.[1];
  return `${world === undefined ? '' : `/worlds/${world}`}/c/pay/${encodeURIComponent(id)}`;
}
