/**
 * `graphile-worker` as a webhook queue: a job for each event, named queues that keep the order of each object, and a
 * signed POST. `POST /` with `{ url, events }` adds the jobs.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { bareApp, serve, setting } from '../baselines/serve.ts';

interface Worker {
  run(options: object): Promise<unknown>;
  makeWorkerUtils(options: object): Promise<{ addJobs(jobs: readonly object[]): Promise<unknown> }>;
}

interface Job {
  readonly url: string;
  readonly event: { readonly objectId: string };
}

// The name is in a variable, because the package is installed only when the benchmarks run.
const packageName: string = 'graphile-worker';
const { run, makeWorkerUtils }: Worker = await import(packageName);

/** The same concurrency as Till's for one endpoint. */
const concurrency = 10;
/** Enough that ten concurrent jobs rarely wait for each other. */
const queuesCount = 100;
const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
const key = randomBytes(32);
let number = 0;

const connectionString = setting('DATABASE_URL');
const utils = await makeWorkerUtils({ connectionString });
await run({
  connectionString,
  concurrency,
  maxPoolSize: Number(setting('DATABASE_POOL_SIZE')),
  noHandleSignals: true,
  pollInterval: 500,
  taskList: { deliver: (job: Job) => post(job) },
});

const app = bareApp();
app.addHook('onError', async (_request, _reply, error) => {
  process.stderr.write(`${error.stack}\n`);
});
app.post<{ Body: { url: string; events: readonly Job['event'][] } }>(
  '/',
  { bodyLimit: 64 * 1024 * 1024 },
  async ({ body: { url, events } }) => {
    await utils.addJobs(
      events.map((event) => ({
        identifier: 'deliver',
        payload: { url, event },
        queueName: queueOf(event.objectId),
      })),
    );
    return { added: events.length };
  },
);
await serve(app);

/** Its documentation warns against a queue for each object. Fewer queues, each with many objects, are faster. */
function queueOf(objectId: string): string {
  return `queue-${Number.parseInt(objectId.slice(0, 8), 16) % queuesCount}`;
}

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
