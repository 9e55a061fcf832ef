import { setTimeout } from 'node:timers/promises';
import { systemClock } from '#core/platform/clock.ts';
import { createRandom } from '#runtime/seed/random.ts';
import {
  type Backend,
  type Lifetime,
  type SandboxFault,
  type Sql,
  startBackend,
  webhookSecrets,
} from '../../support/backend.ts';
import { assertEntitledNotOlder, type ShownEntitlement } from '../../support/checks/entitlement-staleness.ts';
import { assertForgotten } from '../../support/checks/forgotten.ts';
import { assertMirrored } from '../../support/checks/mirrors.ts';
import { assertEventsComplete } from '../../support/checks/outbox.ts';
import { assertNotOlder, readProcessedEvents, readRows } from '../../support/checks/staleness.ts';
import type { Client } from '../../support/client.ts';
import { type LineOptions, TcpLine } from '../../support/tcp-line.ts';
import { startTill } from '../../support/till.ts';
import type { TillInProcess } from '../../support/till-in-process.ts';
import { createApiClient } from './api-client.ts';
import { EventDelivery, inLanes } from './event-delivery.ts';
import { HistoryPlayer } from './history-player.ts';
import type { Fault, World } from './world.ts';

/** So many histories go on at the same time: enough to keep both cores busy. */
const playersAtOnce = 24;
/** One response in ten is late: time for another worker to change the row. */
const lateShare = 0.1;
const lateMsMax = 50;
const faultLatencyMs = 5;
/** The processor ends an open checkout after a day. */
const checkoutSecondsMax = 86_400 + 60;
/** Of the Till of a model. */
const modelGraceDays = 3;

/** A backend whose processor Till reaches over a line on which responses take time. */
export interface ModelBackend extends Backend {
  readonly lineUrl: string;
  /** The processor is as slow and as strict as a real account. */
  readonly hasManners: boolean;
}

type Pause = NonNullable<LineOptions['beforeResponse']>;

/** The sandbox holds back its own deliveries: the model delivers the events itself, in its own way. */
export async function startModelBackend(
  life: Lifetime,
  beforeResponse: Pause,
  manners: { readonly like: 'stripe' | null; readonly seed?: number } = { like: null },
): Promise<ModelBackend> {
  const hasManners = manners.like !== null;
  const backend = await startBackend(life, { stripeWaits: hasManners });
  await backend.control('manners', manners);
  const line = await TcpLine.open(Number(new URL(backend.processorUrl).port), { beforeResponse });
  backend.atEnd(() => line.close());
  return { ...backend, lineUrl: line.url, hasManners };
}

/** Till in this process, with workers that get in each other's way. */
export function startModelTill(backend: ModelBackend, workers = 3): Promise<TillInProcess> {
  return startTill({
    in: 'process',
    on: backend,
    processorUrl: backend.lineUrl,
    workers,
    // Each worker holds one connection and asks through eight more. The requests need some too.
    poolSize: 20,
    limits: {
      ...{ deadlineMs: 10_000, attemptTimeoutMs: 6_000 },
      ...(backend.hasManners ? { retryDelayMs: 400 } : {}),
    },
    entitlementGraceDays: modelGraceDays,
    overviewTimeZone: 'America/St_Johns',
    logLevel: 'warn',
  });
}

/** The delays of an ordinary network. */
export function usualPause(seed: number): Pause {
  const random = createRandom(seed);
  return () => (random() < lateShare ? setTimeout(random() * lateMsMax) : undefined);
}

type Send = (body: string, signature: string) => Promise<void>;

/** A run of a world: plays its histories, and delivers their events to Till. */
export class ModelRun {
  readonly #world: World;
  readonly #backend: ModelBackend;
  readonly #till: Client;
  readonly #players: readonly HistoryPlayer[];
  readonly delivery: EventDelivery;

  constructor(world: World, backend: ModelBackend, till: Client, send: Send) {
    this.#world = world;
    this.#backend = backend;
    this.#till = till;
    const api = createApiClient(till, { waits: backend.hasManners });
    this.#players = world.histories.map(() => new HistoryPlayer(api, backend));
    this.delivery = new EventDelivery({
      stripe: backend.stripe,
      secret: webhookSecrets[0],
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
    for (const fault of this.#world.faults[round] ?? []) await this.#backend.setFault(toSandboxFault(fault));
    const scenes = this.#players.map((player, index) => ({
      player,
      commands: this.#world.histories[index]?.[round] ?? [],
    }));
    await inLanes(playersAtOnce, scenes, async ({ player, commands }) => {
      for (const command of commands) await player.play(command);
    });
  }

  /** Moves the clock, and reads the events of the round. */
  async endRound(round: number): Promise<void> {
    const advanceSeconds = this.#world.clockMovesSeconds[round] ?? 0;
    if (advanceSeconds > 0) await this.#backend.control('clock', { advanceSeconds });
    await this.delivery.collect();
  }

  /** Every page that is still open expires. */
  async endCheckouts(): Promise<void> {
    await this.#backend.control('clock', { advanceSeconds: checkoutSecondsMax });
    await this.delivery.collect();
  }

  /** No row is older than what Till has taken in by now. */
  async assertNotOlder(sql: Sql): Promise<void> {
    const events = await readProcessedEvents(sql);
    const readings = this.#players.flatMap((player) => player.readings);
    const rows = await readRows(sql);
    const clock = this.#backend.processorClock(systemClock);
    const from = clock.now();
    const entitlements = await this.#readEntitlements(sql);
    const to = clock.now();
    await this.delivery.collect();
    assertNotOlder(rows, this.delivery.events, { events, readings });
    const grace = { days: modelGraceDays, from, to };
    assertEntitledNotOlder(entitlements, this.delivery.events, { events, readings }, grace);
  }

  /** As Till's API shows them now. Deleted customers have none. */
  async #readEntitlements(sql: Sql): Promise<readonly ShownEntitlement[]> {
    const rows = await sql<{ id: string; key: string }>(
      'select id, processor_subscription_id as key from till.subscriptions',
    );
    const keys = new Map(rows.map(({ id, key }) => [id, key]));
    const shown: ShownEntitlement[] = [];
    await inLanes(playersAtOnce, this.#players, async ({ customerId }) => {
      const { status, body } = await this.#till.tryGet(`/customers/${customerId}/entitlements`);
      if (status !== 200) return;
      const { subscriptions } = body as {
        readonly subscriptions: readonly (ShownEntitlement & { readonly subscriptionId: string })[];
      };
      for (const { subscriptionId, ...one } of subscriptions) {
        const key = keys.get(subscriptionId);
        // A subscription that is newer than the rows above.
        if (key !== undefined) shown.push({ ...one, processorSubscriptionId: key });
      }
    });
    return shown;
  }

  /** The mirrors are true at the end, and the events tell what they show. */
  async assertMirrored(till: TillInProcess, sql: Sql): Promise<void> {
    await assertMirrored(this.#backend.stripe, sql, {
      customers: new Set(this.#players.map(({ processorCustomerId }) => processorCustomerId)),
      paymentIntents: this.paymentIntents,
    });
    await assertEventsComplete(till, sql);
    // At once: the second search comes ten minutes after the first.
    await till.services.erasure.run();
    await assertForgotten(sql);
  }

  /** Those that Till created. */
  get paymentIntents(): ReadonlySet<string> {
    return new Set(this.#players.flatMap(({ paymentIntentIds }) => paymentIntentIds));
  }
}

function toSandboxFault(fault: Fault): SandboxFault {
  return fault.kind === 'latency' ? { ...fault, latencyMs: faultLatencyMs } : fault;
}
