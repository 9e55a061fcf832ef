import { FrameLink, setStyle } from './frame-link.js';

/**
 * The hidden frame that sends all requests. So the page needs no access to the API, and card numbers go from frame to
 * frame within the sandbox's origin.
 */
export class Controller {
  /** @type {FrameLink | undefined} */
  #link;
  /** @type {Map<number, (result: any) => void>} */
  #waiting = new Map();
  #count = 0;
  #settings;

  /** @param {{ key: string, headers: Record<string, string> }} settings */
  constructor(settings) {
    this.#settings = settings;
  }

  /**
   * Sends a request. Never rejects: a failure is a result with an `error`.
   * @param {{ method?: 'GET' | 'POST', path?: string, params?: object, elements?: readonly string[],
   *   place?: 'root' | 'payment_method_data' | 'card' }} request
   * @returns {Promise<any>}
   */
  async ask(request) {
    if (document.body === null) await new Promise((resolve) => addEventListener('DOMContentLoaded', resolve));
    this.#count += 1;
    const id = this.#count;
    const result = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.#open().send({ type: 'ask', id, ...this.#settings, ...request });
    if (this.#link?.hasFailed) this.#fail();
    return result;
  }

  #open() {
    if (this.#link !== undefined) return this.#link;
    const link = new FrameLink({
      file: 'controller',
      prefix: '__privateStripeController',
      title: 'Sandbox',
      onMessage: ({ type, id, result }) => {
        if (type !== 'result') return;
        this.#waiting.get(id)?.(result);
        this.#waiting.delete(id);
      },
      onFail: () => this.#fail(),
    });
    setStyle(link.frame, {
      position: 'fixed',
      height: '1px',
      visibility: 'hidden',
      'pointer-events': 'none',
    });
    link.frame.tabIndex = -1;
    link.frame.setAttribute('aria-hidden', 'true');
    link.addTo(document.body);
    this.#link = link;
    return link;
  }

  #fail() {
    const error = {
      type: 'api_connection_error',
      message: `There is no connection to the sandbox at ${sandboxUrl}. Is it running, and does the page allow its frames?`,
    };
    for (const resolve of this.#waiting.values()) resolve({ error });
    this.#waiting.clear();
  }
}
