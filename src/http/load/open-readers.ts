import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Caller } from '#core/model/api-key.ts';

/** Part of the API's contract: one application must leave most of the process to the others. */
const shareOfName = 1 / 10;
/** Part of the API's contract: a reader that reconnects before its old connection is known to be lost needs two. */
const readersOfNameMin = 2;
const retryAfterSeconds = 5;
/**
 * How often the API keys of readers are checked. An API key is trusted for four seconds after it was read, so that
 * nothing is sent to a reader five seconds after its revocation.
 */
const keyCheckMsDefault = 500;

/** A response that stays open. */
export interface OpenReader {
  /** Aborts when the caller disconnects, its API key ends, or the service stops. */
  readonly controller: AbortController;
  readonly caller: Caller;
}

/** The abort reason for a reader whose API key was revoked or has expired. */
export const keyEnded = new Error('the API key of the reader is no longer valid');

/** Long responses (streams, long polls, exports), limited in total and for each API key name. */
export class OpenReaders {
  readonly #max: number;
  readonly #maxOfName: number;
  readonly #open = new Set<OpenReader>();
  readonly #ofName = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #isChecking = false;
  #isEnding = false;

  constructor({ max, keyCheckMs = keyCheckMsDefault }: { max: number; keyCheckMs?: number | undefined }) {
    this.#max = max;
    this.#maxOfName = Math.max(Math.floor(max * shareOfName), readersOfNameMin);
    this.#timer = setInterval(() => void this.#checkKeys(), keyCheckMs).unref();
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Undefined if this process has too many readers. Fails if too many have the same API key name. */
  admit(
    { caller }: Pick<FastifyRequest, 'caller'>,
    { raw }: Pick<FastifyReply, 'raw'>,
  ): OpenReader | undefined {
    if (caller === undefined) throw new Error('a reader has no API key');
    // All people have the same API key name.
    const name = caller.person === null ? caller.name : caller.application;
    const count = this.#ofName.get(name) ?? 0;
    if (count >= this.#maxOfName) throw tooManyOfName(caller.name, this.#maxOfName);
    if (this.#isEnding || this.#open.size >= this.#max) return undefined;
    const reader = { controller: new AbortController(), caller };
    this.#open.add(reader);
    this.#ofName.set(name, count + 1);
    const leave = () => {
      this.#open.delete(reader);
      const left = (this.#ofName.get(name) ?? 1) - 1;
      if (left > 0) this.#ofName.set(name, left);
      else this.#ofName.delete(name);
      reader.controller.abort();
    };
    if (raw.closed) leave();
    else raw.once('close', leave);
    return reader;
  }

  /** Ends all readers, and admits no more. */
  end(): void {
    this.close();
    for (const { controller } of this.#open) controller.abort();
  }

  /** Admits no more readers. */
  close(): void {
    this.#isEnding = true;
    clearInterval(this.#timer);
  }

  async #checkKeys(): Promise<void> {
    // A check waits for the database if the API keys were read too long ago.
    if (this.#isChecking) return;
    this.#isChecking = true;
    await Promise.all([...this.#open].map(endWithKey));
    this.#isChecking = false;
  }
}

/** Ends a reader whose API key is no longer valid, or cannot be checked. Resolves with whether it may continue. */
export async function endWithKey({ controller, caller }: OpenReader): Promise<boolean> {
  const isValid = await Promise.resolve(caller.isValid()).catch(() => false);
  if (!isValid) controller.abort(keyEnded);
  return isValid && !controller.signal.aborted;
}

function tooManyOfName(name: string, max: number): Failure {
  return new Failure(
    'rate_limited',
    `API keys with the name ${name} have ${max} streams, waiting requests or exports of this kind open, which is the ` +
      'maximum for one name in a process. Close one, or retry later.',
    { retryAfterSeconds },
  );
}
