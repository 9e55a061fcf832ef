import type { Operation } from '../wire/operation.ts';

interface Latency {
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** How long a request takes, and how much of this time is over when its work is done. */
export interface Delay {
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** Recorded in test mode. */
const payment: Latency = { medianMs: 850, p99Ms: 2_500, maxMs: 4_000 };
/** Recorded in test mode. */
const subscription: Latency = { medianMs: 2_700, p99Ms: 3_700, maxMs: 3_900 };
/** Not recorded, as the two below: what creates or collects one invoice is between a payment and a subscription. */
const invoice: Latency = { medianMs: 1_200, p99Ms: 2_800, maxMs: 4_000 };
const otherWrite: Latency = { medianMs: 400, p99Ms: 1_200, maxMs: 2_000 };
const read: Latency = { medianMs: 150, p99Ms: 600, maxMs: 1_200 };

/** By the resource in an operation's name. */
const writes: Readonly<Record<string, Latency>> = {
  invoices: invoice,
  payment_intents: payment,
  payment_pages: payment,
  refunds: payment,
  setup_intents: payment,
  subscription_items: subscription,
  subscription_schedules: subscription,
  subscriptions: subscription,
};

/** At 2.326 standard deviations above the median, a normal distribution has 1 % left. */
const deviationsOfP99 = 2.326;

/**
 * The latencies of the processor: the same ones for the same seed. The third request of an operation takes as long in
 * each run, whatever other operations run beside it.
 */
export class Latencies {
  readonly #seed: number;
  readonly #counts = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  next({ name, method }: Pick<Operation, 'name' | 'method'>): Delay {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const draw = (what: string) => uniform(`${this.#seed} ${name} ${count} ${what}`);
    const latency = method === 'GET' ? read : (writes[name.split('.')[0] ?? ''] ?? otherWrite);
    const totalMs = durationOf(latency, normal(draw('radius'), draw('angle')));
    const beforeMs = totalMs * draw('work');
    return { beforeMs, afterMs: totalMs - beforeMs };
  }
}

/** Latencies have a long tail: their logarithm is distributed normally. */
function durationOf({ medianMs, p99Ms, maxMs }: Latency, deviations: number): number {
  const spread = Math.log(p99Ms / medianMs) / deviationsOfP99;
  return Math.min(maxMs, medianMs * Math.exp(spread * deviations));
}

/** The transformation of Box and Muller. */
function normal(radius: number, angle: number): number {
  return Math.sqrt(-2 * Math.log(1 - radius)) * Math.cos(2 * Math.PI * angle);
}

/** From 0 to less than 1: the hash FNV-1a of the text, with the last step of MurmurHash3, which spreads its bits. */
function uniform(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
