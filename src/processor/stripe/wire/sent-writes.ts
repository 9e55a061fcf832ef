import { type Cause, currentCause } from '#core/platform/cause.ts';
import type { CausingWrite } from '../../port/event-facts.ts';

/** The time limit of an API request. After that, the request has recorded its change itself, or has failed. */
const keptMs = 30_000;
/** More than the calls of a busy process in that time. About a kilobyte each. */
const keptMax = 10_000;
/** Ids are shorter, so longer values are not kept. */
const idLengthMax = 64;

/** Separates the values of a path, and those of a form-encoded body. */
const separators = /[/?&=]/;

/** A call as it is sent. */
interface SentCall {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly idempotencyKey: string | undefined;
}

interface SentWrite {
  readonly cause: Cause;
  readonly sentAtMs: number;
}

/**
 * The recent writes of API requests. The processor can report a change before the request has recorded it. Its event
 * names the write, so Till can still attribute the change to the request. Only the process that sent a write knows it.
 */
export class SentWrites {
  /** By processor key, or by the path of a write without one. Oldest first. */
  readonly #byName = new Map<string, SentWrite>();
  /**
   * The values that a request has sent to the processor: the processor's ids, Till's ids, and all other short values.
   * They are one text for each request: thousands of sets, each kept for half a minute, would keep the garbage
   * collector busy.
   */
  readonly #named = new WeakMap<Cause, string>();
  readonly #elapsedMs: () => number;

  constructor(elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs;
  }

  get isEmpty(): boolean {
    return this.#byName.size === 0;
  }

  note({ method, path, body, idempotencyKey }: SentCall): void {
    const cause = currentCause();
    if (cause?.kind !== 'api') return;
    const named = `${path}&${body}`.split(separators).filter(({ length }) => length <= idLengthMax);
    this.#named.set(cause, [this.#named.get(cause) ?? '', ...named].join('&'));
    if (method === 'GET') return;
    this.#forget();
    const name = idempotencyKey ?? unkeyed(lastSegmentOf(path));
    this.#byName.delete(name);
    this.#byName.set(name, { cause, sentAtMs: this.#elapsedMs() });
  }

  /** The request whose write caused the event, if it is about one of these objects. */
  causeOf({ idempotencyKey, objectId }: CausingWrite, ids: readonly string[]): Cause | undefined {
    this.#forget();
    const sent = this.#byName.get(idempotencyKey ?? unkeyed(objectId));
    if (sent === undefined) return undefined;
    const named = new Set(this.#named.get(sent.cause)?.split(separators));
    return [objectId, ...ids].some((id) => named.has(id)) ? sent.cause : undefined;
  }

  #forget(): void {
    const oldestMs = this.#elapsedMs() - keptMs;
    for (const [name, { sentAtMs }] of this.#byName) {
      if (sentAtMs >= oldestMs && this.#byName.size < keptMax) return;
      this.#byName.delete(name);
    }
  }
}

/** The id of the object that a write is about. Its query can contain slashes. */
function lastSegmentOf(path: string): string {
  const [withoutQuery = ''] = path.split('?');
  return withoutQuery.slice(withoutQuery.lastIndexOf('/') + 1);
}

/** Processor keys have no spaces. */
function unkeyed(objectId: string): string {
  return `of ${objectId}`;
}
