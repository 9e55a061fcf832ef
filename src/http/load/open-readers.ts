import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { Caller } from '../../model/api-key.ts';

/** The contract's: one application leaves most of the process to the others. */
const shareOfName = 1 / 10;
/** The contract's: a reader that reconnects before its old connection is known to be gone needs two. */
const readersOfNameMin = 2;
const retryAfterSeconds = 5;
/**
 * How often the API keys of readers are checked. A key is trusted for four seconds after it was read, so that nothing is
 * sent to a reader five seconds after its revocation.
 */
const keyCheckMsDefault = 500;

/** A response that stays open. */
export interface Reader {
  /** Aborts when the caller disconnects, its API key ends, or the service stops. */
  readonly controller: AbortController;
  readonly caller: Caller;
}

/** Why the signal of a reader aborts whose API key has ended. */
export const keyEnded = new Error('the API key of the reader is no longer valid');

/** Responses that take long, up to a limit in all and for each name of API keys: streams, long polls, exports. */
export class OpenReaders {
  readonly #max: number;
  readonly #maxOfName: number;
  readonly #open = new Set<Reader>();
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

  /** Undefined if this process has too many readers. Fails if those of the API key's name are too many. */
  admit({ caller }: Pick<FastifyRequest, 'caller'>, { raw }: Pick<FastifyReply, 'raw'>): Reader | undefined {
    if (caller === undefined) throw new Error('a reader has no API key');
    const { name } = caller;
    const count = this.#ofName.get(name) ?? 0;
    if (count >= this.#maxOfName) throw tooManyOfName(name, this.#maxOfName);
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
    // A check waits for the database if the keys were read too long ago.
    if (this.#isChecking) return;
    this.#isChecking = true;
    await Promise.all([...this.#open].map(endWithKey));
    this.#isChecking = false;
  }
}

/** Ends a reader whose API key is no longer valid, or cannot be checked. Resolves with whether it may go on. */
export async function endWithKey({ controller, caller }: Reader): Promise<boolean> {
  const isValid = await Promise.resolve(caller.isValid()).catch(() => false);
  if (!isValid) controller.abort(keyEnded);
  return isValid && !controller.signal.aborted;
}

function tooManyOfName(name: string, max: number): Failure {
  return new Failure(
    'rate_limited',
    `API keys with the name ${name} have ${max} streams, waiting requests or exports of this kind open, which is all that ` +
      'one name may have in a process. Close one, or retry later.',
    { retryAfterSeconds },
  );
}
