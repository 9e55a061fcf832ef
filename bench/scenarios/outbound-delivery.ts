import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchDatabase } from '../lab/database.ts';
import type { Lab, Run } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { apiKey } from '../load/requests.ts';
import { installPeers } from '../peers/install.ts';

/** A few seconds each. The peer is slower, so it gets fewer events. */
const eventsFull = { till: 20_000, peer: 8_000 };
const eventsQuick = { till: 3_000, peer: 1_500 };
/** Events of one statement or request, each about another object. */
const eventsPerBatch = 500;
const objects = Array.from({ length: eventsPerBatch }, () => randomUUID());
/** Metadata that makes an event about as large as one of a subscription. */
const filler = 'x'.repeat(1_000);
const lookDelayMs = 5;
const timeoutMs = 300_000;

const eventOf = (objectId: string) => ({
  ...{ type: 'subscription.updated', objectType: 'subscription', objectId, customerId: objectId },
  ...{ data: { id: objectId, filler }, previous: { filler: '' } },
  cause: { kind: 'webhook', keyName: null, requestId: null, processorEventId: 'evt_bench' },
});

/** Delivery of events to an endpoint: written durably, signed, sent by HTTP, and recorded. */
export const outboundDelivery: Scenario = {
  names: ['outbound_delivery'],
  async run(lab) {
    installPeers();
    await using database = await lab.database('till');
    await using peerDatabase = await lab.database('empty');
    await using till = await lab.startTill(database, { EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true' });
    await using peer = await lab.startBaseline('peers/graphile-worker.ts', peerDatabase);
    await using tillSink = await lab.startBaseline('baselines/event-sink.ts');
    await using peerSink = await lab.startBaseline('baselines/event-sink.ts');
    await createEndpoint(till, tillSink);
    const events = objects.map(eventOf);
    const contestants = {
      till: new Contestant(lab, till, tillSink, () => append(database, events)),
      peer: new Contestant(lab, peer, peerSink, () => enqueue(peer, { url: peerSink.url, events })),
    };
    for (const contestant of Object.values(contestants)) await contestant.deliver(eventsPerBatch * 2);
    const count = lab.scale.quick ? eventsQuick : eventsFull;
    const runs = await takeTurns(lab, {
      till: () => contestants.till.deliver(count.till),
      peer: () => contestants.peer.deliver(count.peer),
    });
    return [
      {
        name: 'outbound_delivery',
        value: runs.till.ratePerSecond,
        unit: 'deliveries/s',
        cpu: runs.till,
        baseline: runs.peer.ratePerSecond,
        baselineCpu: runs.peer,
        goal: { atLeast: 1 },
        note: 'one endpoint, ten at a time, 500 objects; the baseline is graphile-worker with named queues',
      },
    ];
  },
};

class Contestant {
  readonly #lab: Lab;
  readonly #service: ServerProcess;
  readonly #sink: ServerProcess;
  readonly #add: () => Promise<unknown>;
  #expected = 0;

  constructor(lab: Lab, service: ServerProcess, sink: ServerProcess, add: () => Promise<unknown>) {
    this.#lab = lab;
    this.#service = service;
    this.#sink = sink;
    this.#add = add;
  }

  /** Adds events, and waits until the last one has arrived. */
  deliver(count: number): Promise<Run> {
    return this.#lab.measure([this.#service.pid], async () => {
      const startedAtMs = performance.now();
      this.#expected += count;
      for (let added = 0; added < count; added += eventsPerBatch) await this.#add();
      while ((await this.#received()) < this.#expected) {
        if (performance.now() - startedAtMs > timeoutMs) throw new Error('an event never arrived');
        await delay(lookDelayMs);
      }
      return { operations: count, elapsedMs: performance.now() - startedAtMs };
    });
  }

  async #received(): Promise<number> {
    const received = Number(await (await fetch(this.#sink.url)).text());
    if (received > this.#expected) throw new Error('an event arrived twice');
    return received;
  }
}

async function createEndpoint(till: ServerProcess, sink: ServerProcess): Promise<void> {
  const { status } = await fetch(`${till.url}/api/v1/event-endpoints`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ url: sink.url }),
  });
  if (status !== 201) throw new Error(`the creation of the endpoint returned ${status}`);
}

function append(database: BenchDatabase, events: readonly object[]): Promise<unknown> {
  const fields = ['type', 'objectType', 'objectId', 'customerId', 'data', 'previous', 'cause', 'traceparent'];
  const arrays = fields.map((field) => `array_agg(event ->> '${field}')`).join(', ');
  return database.query(`select till.append_events(${arrays}) from json_array_elements($1::json) as event`, [
    JSON.stringify(events),
  ]);
}

async function enqueue(peer: ServerProcess, body: object): Promise<void> {
  const { status } = await fetch(peer.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (status !== 200) throw new Error(`the jobs were refused with ${status}`);
}
