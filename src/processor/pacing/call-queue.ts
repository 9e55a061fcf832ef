import { FairQueue, type MayBegin, type Queued } from './fair-queue.ts';

export type Priority = 'interactive' | 'background';

export interface QueuedCall extends Queued {
  readonly priority: Priority;
}

/** While both wait, one of this many calls is one of the background work, so that it always makes progress. */
const backgroundEvery = 10;

/** Calls that wait: those of requests before those of background work, except for a small share. */
export class CallQueue<Call extends QueuedCall> {
  readonly #interactive = new FairQueue<Call>();
  readonly #background = new FairQueue<Call>();
  /** Interactive calls that began while background work waited, since the last call of background work. */
  #since = 0;

  get size(): number {
    return this.#interactive.size + this.#background.size;
  }

  push(call: Call): void {
    this.#of(call).push(call);
  }

  /** Puts a call back that was taken, as the next one of its priority. */
  putBack(call: Call): void {
    this.#of(call).putBack(call);
    if (call.priority === 'background') this.#since = backgroundEvery - 1;
    else this.#since = Math.max(0, this.#since - 1);
  }

  remove(call: Call): void {
    this.#of(call).remove(call);
  }

  take(mayBegin: MayBegin): Call | undefined {
    const isTurnOfBackground = this.#since >= backgroundEvery - 1;
    const [first, second] = isTurnOfBackground
      ? [this.#background, this.#interactive]
      : [this.#interactive, this.#background];
    const call = first.take(mayBegin) ?? second.take(mayBegin);
    if (call === undefined) return undefined;
    const isPassedOver = call.priority === 'interactive' && this.#background.size > 0;
    this.#since = isPassedOver ? Math.min(this.#since + 1, backgroundEvery - 1) : 0;
    return call;
  }

  /** About how many calls begin before a new one. Only those of `endpoint`, if given. */
  countAhead({ priority, group }: QueuedCall, endpoint?: string): number {
    const own = this.#of({ priority }).countAhead(group, endpoint);
    if (priority === 'background') {
      const others = this.#interactive.size;
      return own + Math.min(others, (own + 1) * (backgroundEvery - 1));
    }
    return own + Math.min(this.#background.size, Math.floor(own / (backgroundEvery - 1)));
  }

  #of({ priority }: Pick<QueuedCall, 'priority'>): FairQueue<Call> {
    return priority === 'interactive' ? this.#interactive : this.#background;
  }
}
