import type { ServerResponse } from 'node:http';

/** The readers that wait for events, up to a limit. */
export class OpenReaders {
  readonly #max: number;
  readonly #open = new Set<AbortController>();
  #isEnding = false;

  constructor(max: number) {
    this.#max = max;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Undefined if there are too many readers. The controller aborts when the caller disconnects or the service stops. */
  admit(response: ServerResponse): AbortController | undefined {
    if (this.#isEnding || this.#open.size >= this.#max) return undefined;
    const reader = new AbortController();
    this.#open.add(reader);
    response.on('close', () => {
      this.#open.delete(reader);
      reader.abort();
    });
    return reader;
  }

  /** Ends all readers, and admits no more. */
  end(): void {
    this.#isEnding = true;
    for (const reader of this.#open) reader.abort();
  }
}
