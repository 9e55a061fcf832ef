import type { IncomingMessage } from 'node:http';
import { Failure } from '#core/errors.ts';
import { bodyBytesMax } from './limits.ts';

declare module 'fastify' {
  interface FastifyInstance {
    unverifiedBodies: UnverifiedBodies;
  }
}

export interface UnverifiedLimits {
  /** The memory of all. A webhook has a few kilobytes, so this is enough for thousands at a time. */
  readonly bytesMax: number;
  /** Twice the number of webhooks that a process handles before it refuses any. */
  readonly bodiesMax: number;
  readonly deadlineMs: number;
  /**
   * How many bytes of a body must have arrived for each second after `graceMs`. The processor sends a webhook at once.
   */
  readonly bytesPerSecondMin: number;
  /** A lost packet is sent again within this time. */
  readonly graceMs: number;
}

const unverifiedLimits: UnverifiedLimits = {
  bytesMax: 33_554_432,
  bodiesMax: 2_000,
  deadlineMs: 10_000,
  bytesPerSecondMin: 16_384,
  graceMs: 2_000,
};

/** How often slow bodies are checked for. */
const checkIntervalMs = 500;
/** The initial buffer of a body that arrives in parts. */
const roomBytesMin = 4_096;
const nothing = Buffer.alloc(0);

type Take = (body: Buffer) => void;
type Fail = (failure: Error) => void;

/**
 * Reads bodies whose senders are known only at the end, by a signature over all bytes. Anyone can send the beginning of
 * one and wait, so all of them together have limits of memory and number. When a limit is reached, the oldest body is
 * refused. It has had the most time: a body that is sent at once is complete before it becomes the oldest.
 */
export class UnverifiedBodies {
  readonly #limits: UnverifiedLimits;
  #oldest: ArrivingBody | undefined;
  #newest: ArrivingBody | undefined;
  #count = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: Partial<UnverifiedLimits> = {}) {
    this.#limits = { ...unverifiedLimits, ...limits };
  }

  get count(): number {
    return this.#count;
  }

  /** The memory that the bodies take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Calls back with the whole body, or with the reason why it is incomplete. Does not close the connection. */
  read(request: IncomingMessage, take: Take, fail: Fail): void {
    const body = new ArrivingBody(request, take, fail);
    body.onGrowth = (bytes) => {
      this.#bytes += bytes;
      while (this.#bytes > this.#limits.bytesMax && this.#oldest !== undefined) this.#oldest.end(tooSlow());
    };
    body.onEnd = () => this.#remove(body);
    this.#append(body);
    if (this.#count > this.#limits.bodiesMax) this.#oldest?.end(tooSlow());
  }

  #append(body: ArrivingBody): void {
    body.previous = this.#newest;
    if (this.#newest === undefined) this.#oldest = body;
    else this.#newest.next = body;
    this.#newest = body;
    this.#count += 1;
    this.#timer ??= setInterval(() => this.#endSlow(), checkIntervalMs).unref();
  }

  #remove(body: ArrivingBody): void {
    const { previous, next, room } = body;
    // A body that still has its neighbour would keep all later ones in memory, once it is in the old generation.
    body.previous = undefined;
    body.next = undefined;
    if (previous === undefined) this.#oldest = next;
    else previous.next = next;
    if (next === undefined) this.#newest = previous;
    else next.previous = previous;
    this.#bytes -= room;
    this.#count -= 1;
    if (this.#count > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #endSlow(): void {
    const { deadlineMs, graceMs, bytesPerSecondMin } = this.#limits;
    const nowMs = performance.now();
    for (let body = this.#oldest; body !== undefined; ) {
      const { next } = body;
      const ageMs = nowMs - body.sinceMs;
      // The next ones are younger.
      if (ageMs < graceMs) return;
      const isSlow = body.length < ((ageMs - graceMs) / 1_000) * bytesPerSecondMin;
      if (isSlow || ageMs >= deadlineMs) body.end(tooSlow());
      body = next;
    }
  }
}

/** A body that may still be incomplete. */
class ArrivingBody {
  readonly sinceMs = performance.now();
  readonly #request: IncomingMessage;
  readonly #take: Take;
  readonly #fail: Fail;
  readonly #declaredLength: number;
  /** Its only part, if it arrived in one, as most do. */
  #whole: Buffer | undefined;
  #parts = nothing;
  #isOver = false;
  length = 0;
  onGrowth: (bytes: number) => void = () => {};
  onEnd: () => void = () => {};
  previous: ArrivingBody | undefined;
  next: ArrivingBody | undefined;

  constructor(request: IncomingMessage, take: Take, fail: Fail) {
    this.#request = request;
    this.#take = take;
    this.#fail = fail;
    this.#declaredLength = Number(request.headers['content-length']);
    request.on('data', this.#add);
    request.once('end', () => this.end());
    request.once('error', (error) => this.end(error));
  }

  /** The memory that it takes. */
  get room(): number {
    return this.#parts.length;
  }

  /** Calls back exactly once. */
  end(failure?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#request.off('data', this.#add);
    this.onEnd();
    if (failure === undefined) this.#take(this.#whole ?? this.#parts.subarray(0, this.length));
    else this.#fail(failure);
    this.#parts = nothing;
  }

  readonly #add = (chunk: Buffer): void => {
    const start = this.length;
    this.length += chunk.length;
    if (this.length > bodyBytesMax) this.end(tooLarge());
    else if (chunk.length === this.#declaredLength) this.#whole = chunk;
    else {
      this.#makeRoom();
      chunk.copy(this.#parts, start);
    }
  };

  /** Parts of one byte each would otherwise take a hundred times their size. */
  #makeRoom(): void {
    const before = this.room;
    if (this.length <= before) return;
    const room = Math.min(Math.max(2 * this.length, roomBytesMin), bodyBytesMax);
    const parts = Buffer.allocUnsafeSlow(room);
    this.#parts.copy(parts);
    this.#parts = parts;
    this.onGrowth(room - before);
  }
}

function tooLarge(): Failure {
  return new Failure('payload_too_large', `Send a body of at most ${bodyBytesMax} bytes.`);
}

function tooSlow(): Failure {
  return new Failure('request_timeout', 'The body arrived too slowly. Send all of it at once.');
}
