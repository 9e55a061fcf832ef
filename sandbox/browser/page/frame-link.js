/** A frame starts within milliseconds. After this time without a sign of it, the sandbox or its address is wrong. */
const startTimeoutMs = 10_000;
/** A frame says that it starts before it has loaded, but another process may deliver the message a little later. */
const messageTimeoutMs = 1_000;

/** As in the real library, frame names have a common beginning and differ between loads of a page. */
const loadNumber = 1_000 + Math.floor(Math.random() * 9_000);
let frameCount = 0;

/** A frame of the sandbox in the page, and the messages to and from it. */
export class FrameLink {
  /** @type {'starting' | 'open' | 'failed'} */
  #state = 'starting';
  /** @type {object[]} */
  #waiting = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #onMessage;
  #onFail;
  /** @param {MessageEvent} event */
  #listen = (event) => {
    if (event.origin !== sandboxOrigin || event.source !== this.frame.contentWindow) return;
    if (event.data.type !== 'started') return this.#onMessage(event.data);
    clearTimeout(this.#timer);
    this.#state = 'open';
    this.#onMessage(event.data);
    for (const message of this.#waiting.splice(0)) this.send(message);
  };

  /**
   * @param {{ file?: string, path?: string, prefix?: string, title: string, parameters?: Record<string, string>,
   *   onMessage: (message: any) => void, onFail?: () => void }} options
   */
  constructor({
    file,
    prefix = '__privateStripeFrame',
    title,
    parameters = {},
    path = `/v3/${file}.html#${new URLSearchParams(parameters)}`,
    onMessage,
    onFail = () => {},
  }) {
    this.#onMessage = onMessage;
    this.#onFail = onFail;
    const frame = document.createElement('iframe');
    frameCount += 1;
    frame.name = `${prefix}${loadNumber}${frameCount}`;
    frame.title = title;
    frame.allow = 'payment *';
    frame.src = `${sandboxUrl}${path}`;
    setStyle(frame, { border: 'none', width: '100%', display: 'block', overflow: 'hidden' });
    this.frame = frame;
    addEventListener('message', this.#listen);
  }

  /** @param {Element} parent */
  addTo(parent) {
    this.#state = 'starting';
    this.#failAfter(startTimeoutMs);
    // The page of an error loads too.
    this.frame.addEventListener(
      'load',
      () => this.#state === 'starting' && this.#failAfter(messageTimeoutMs),
    );
    parent.append(this.frame);
  }

  /** @param {number} timeoutMs */
  #failAfter(timeoutMs) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#state = 'failed';
      this.#onFail();
    }, timeoutMs);
  }

  /** @param {object} message */
  send(message) {
    if (this.#state === 'open') this.frame.contentWindow?.postMessage(message, sandboxOrigin);
    else this.#waiting.push(message);
  }

  get hasFailed() {
    return this.#state === 'failed';
  }

  remove() {
    clearTimeout(this.#timer);
    removeEventListener('message', this.#listen);
    this.frame.remove();
  }
}

/**
 * By properties, because a strict policy of the page forbids style attributes.
 * @param {HTMLElement} element
 * @param {Record<string, string>} style
 */
export function setStyle(element, style) {
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value, 'important');
}
