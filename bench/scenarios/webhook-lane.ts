import { setTimeout as delay } from 'node:timers/promises';
import type { BenchDatabase } from '../lab/database.ts';
import type { Lab, Run } from '../lab/lab.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { firstEventSeconds, objectCount } from '../load/events.ts';
import type { JobResult } from '../load/job.ts';

/** Each has one request in flight. */
const connections = 64;
/** Long compared to a batch, which takes milliseconds, and short compared to a run, which takes seconds. */
const drainPollDelayMs = 5;
/** A minute for a backlog that takes seconds. If it takes longer, it is stuck. */
const drainTimeoutMs = 60_000;

/** Sends a contestant its events. Each run continues where the previous one ended, so that no event is sent twice. */
export class WebhookLane {
  readonly #lab: Lab;
  readonly #server: ServerProcess;
  readonly #startSeconds = firstEventSeconds(Date.now());
  #sent = 0;

  constructor(lab: Lab, server: ServerProcess) {
    this.#lab = lab;
    this.#server = server;
  }

  /** One pass over all objects, so that every contestant has seen each of them, and its code is warm. */
  async warmUp(): Promise<void> {
    await this.ingest(objectCount);
  }

  /** Measures until the last event is acknowledged. */
  ingest(count: number): Promise<Run> {
    return this.#lab.load(this.#job(count), [this.#server.pid]);
  }

  /** Measures until the last event is applied to its mirror. */
  async apply(count: number, database: BenchDatabase): Promise<Run> {
    const start = await this.#lab.prepare(this.#job(count));
    const run = await this.#lab.measure([this.#server.pid], () => untilApplied(start, database));
    await expectApplied(database, this.#sent);
    return run;
  }

  #job(count: number) {
    const series = { first: this.#sent, count, startSeconds: this.#startSeconds };
    this.#sent += count;
    const target = { url: this.#server.url, connections, requests: { kind: 'events' as const, series } };
    return { targets: [target], expected: [200] };
  }
}

/** Starts a load, and stops the clock when no events are pending. */
export async function untilApplied(start: () => Promise<JobResult>, database: BenchDatabase) {
  const startedAtMs = performance.now();
  const { requests } = await start();
  await drain(database);
  return { operations: requests, elapsedMs: performance.now() - startedAtMs };
}

/** Waits until no event is pending. */
export async function drain(database: BenchDatabase): Promise<void> {
  const deadlineMs = performance.now() + drainTimeoutMs;
  const waits = `select exists (select from till.webhook_events where state = 'pending') as waits`;
  while ((await database.query<{ waits: boolean }>(waits))[0]?.waits !== false) {
    if (performance.now() > deadlineMs) throw new Error('the inbox still has pending events');
    await delay(drainPollDelayMs);
  }
}

/** A rate counts only if every event took effect exactly once. */
export async function expectApplied(database: BenchDatabase, expected: number): Promise<void> {
  const [row] = await database.query<{ applied: number }>(
    `select count(*)::int as applied from till.webhook_events where state = 'processed'`,
  );
  if (row?.applied !== expected) throw new Error(`${row?.applied} of ${expected} events were applied`);
}
