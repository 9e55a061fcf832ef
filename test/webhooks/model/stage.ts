import { setTimeout } from 'node:timers/promises';
import { Stripe } from 'stripe';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import type { Queryable } from '../../../src/platform/postgres.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { createApiClient } from './api-client.ts';
import { assertNotOlder, readProcessedEvents, readRows } from './assert-not-older.ts';
import { assertMirrored } from './compare-mirrors.ts';
import { EventPost, inLanes } from './event-post.ts';
import { HistoryPlayer } from './history-player.ts';
import { createRandom } from './random.ts';
import { type Pause, startSlowWire } from './slow-wire.ts';
import type { Fault, World } from './world.ts';

export const webhookSecret = 'whsec_model';
/** So many histories go on at the same time: enough to keep both cores busy. */
const playersAtOnce = 24;
/** One answer in ten is late: time for another worker to move the row that it is about. */
const lateShare = 0.1;
const lateMsMax = 50;
const faultLatencyMs = 5;

export interface Stage {
  /** Where Till finds its processor. */
  readonly processorUrl: string;
  readonly databaseUrl: string;
  readonly stripe: Stripe;
  /** The sandbox's own controls. */
  readonly control: (path: string, body: object) => Promise<void>;
  clearFaults(): Promise<void>;
  close(): Promise<void>;
}

/** A processor and a database of a world's own, with a wire between them that takes its time. */
export async function openStage(pause: Pause): Promise<Stage> {
  const sandbox = await startSandbox({ port: 0 });
  const database = await createTestDatabase();
  const wire = await startSlowWire(sandbox.url, pause);
  const request = async (path: string, init: RequestInit) => {
    const answer = await fetch(`${sandbox.url}/sandbox/${path}`, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the sandbox refused ${path}: ${text}`);
  };
  return {
    processorUrl: wire.url,
    databaseUrl: database.url,
    stripe: new Stripe('sk_test_model', {
      host: '127.0.0.1',
      port: sandbox.port,
      protocol: 'http',
      telemetry: false,
      maxNetworkRetries: 0,
    }),
    control: (path, body) => request(path, { method: 'POST', body: JSON.stringify(body) }),
    clearFaults: () => request('faults', { method: 'DELETE' }),
    close: async () => {
      await wire.close();
      await sandbox.close();
      await database.drop();
    },
  };
}

/** A wire as it is every day. */
export function usualPause(seed: number): Pause {
  const random = createRandom(seed);
  return () => (random() < lateShare ? setTimeout(random() * lateMsMax) : undefined);
}

export interface TillAddress {
  readonly url: () => string;
  readonly apiKey: string;
}

/** A world on its stage: the histories, and the post that brings Till news of them. */
export class Play {
  readonly #world: World;
  readonly #stage: Stage;
  readonly #players: readonly HistoryPlayer[];
  readonly post: EventPost;

  constructor(
    world: World,
    stage: Stage,
    till: TillAddress,
    send: (body: string, signature: string) => Promise<void>,
  ) {
    this.#world = world;
    this.#stage = stage;
    const api = createApiClient(till);
    this.#players = world.histories.map(() => new HistoryPlayer(api, stage));
    this.post = new EventPost({
      stripe: stage.stripe,
      secret: webhookSecret,
      seed: world.deliverySeed,
      send,
    });
  }

  get rounds(): number {
    return this.#world.clockMovesSeconds.length;
  }

  async begin(): Promise<void> {
    await inLanes(playersAtOnce, this.#players, (player) => player.begin());
  }

  /** What happens in a round, in every history. */
  async play(round: number): Promise<void> {
    for (const fault of this.#world.faults[round] ?? []) await this.#stage.control('faults', orderOf(fault));
    const scenes = this.#players.map((player, index) => ({
      player,
      commands: this.#world.histories[index]?.[round] ?? [],
    }));
    await inLanes(playersAtOnce, scenes, async ({ player, commands }) => {
      for (const command of commands) await player.play(command);
    });
  }

  /** The clock moves on, and the post fetches what the round has brought. */
  async endRound(round: number): Promise<void> {
    const advanceSeconds = this.#world.clockMovesSeconds[round] ?? 0;
    if (advanceSeconds > 0) await this.#stage.control('clock', { advanceSeconds });
    await this.post.collect();
  }

  /** No row is older than what Till has taken in by now. */
  async assertNotOlder(db: Queryable): Promise<void> {
    const events = await readProcessedEvents(db);
    const readings = this.#players.flatMap((player) => player.readings);
    const rows = await readRows(db);
    await this.post.collect();
    assertNotOlder(rows, this.post.events, { events, readings });
  }

  async assertMirrored(db: Queryable): Promise<void> {
    await assertMirrored(this.#stage.stripe, db, {
      customers: new Set(this.#players.map(({ processorCustomerId }) => processorCustomerId)),
      paymentIntents: this.paymentIntents,
    });
  }

  /** Those that Till made. */
  get paymentIntents(): ReadonlySet<string> {
    return new Set(this.#players.flatMap(({ paymentIntentIds }) => paymentIntentIds));
  }
}

function orderOf(fault: Fault): object {
  return fault.kind === 'latency' ? { ...fault, latencyMs: faultLatencyMs } : fault;
}
