/**
 * `graphile-worker` as the queue of webhooks: a job for each event, a named queue for each object, which keeps its order,
 * and a signed POST. `POST /` with `{ url, events }` adds the jobs.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { bareApp, serve, setting } from '../baselines/serve.ts';

interface Worker {
  run(options: object): Promise<{
    addJobs(jobs: readonly object[]): Promise<unknown>;
  }>;
}

interface Job {
  readonly url: string;
  readonly event: { readonly objectId: string };
}

// The name is in a variable, because the package is installed only when the benchmarks run.
const packageName: string = 'graphile-worker';
const { run }: Worker = await import(packageName);

/** As many at a time as Till sends to one endpoint. */
const concurrency = 10;
const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
const key = randomBytes(32);
let number = 0;

const runner = await run({
  connectionString: setting('DATABASE_URL'),
  concurrency,
  maxPoolSize: Number(setting('DATABASE_POOL_SIZE')),
  noHandleSignals: true,
  pollInterval: 500,
  taskList: { deliver: (job: Job) => post(job) },
});

const app = bareApp();
app.post<{ Body: { url: string; events: readonly Job['event'][] } }>(
  '/',
  { bodyLimit: 64 * 1024 * 1024 },
  async ({ body: { url, events } }) => {
    await runner.addJobs(
      events.map((event) => ({
        identifier: 'deliver',
        payload: { url, event },
        queueName: event.objectId,
      })),
    );
    return { added: events.length };
  },
);
await serve(app);

function post({ url, event }: Job): Promise<void> {
  const body = JSON.stringify(event);
  number += 1;
  const [id, timestamp] = [`evt_${number}`, Math.floor(Date.now() / 1_000)];
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  request(url, { method: 'POST', agent, headers }, (response) => {
    response.resume();
    response.on('end', () =>
      response.statusCode === 204 ? resolve() : reject(new Error(`status ${response.statusCode}`)),
    );
  })
    .on('error', reject)
    .end(body);
  return promise;
}
