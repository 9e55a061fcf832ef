import type { TestContext } from 'node:test';
import { type Backend, openSql, startBackend } from '../../support/backend.ts';
import { effort } from '../../support/effort.ts';
import { type ProcessorProxy, startProcessorProxy } from '../../support/processor-proxy.ts';
import { TcpLine } from '../../support/tcp-line.ts';
import { backendEnvironment } from '../../support/till-in-child.ts';
import { startWholeTill, type WholeTill } from '../../support/whole-till.ts';
import { copyFiles, promote, replicaSettings, startOnCopy } from './postgres-copy.ts';
import { PostgresServer } from './postgres-server.ts';

/** Regular recovery must not be what helps. */
const recoveryDelayMs = 3_600_000;

const ways = {
  'an asynchronous failover to a standby': 'standby',
  'a copy of the files that keeps its timeline': 'primary',
} as const;

/** Both ways. The short form has one for each test. */
export function waysBut(left: keyof typeof ways) {
  const all = Object.entries(ways);
  return effort({ short: all.filter(([name]) => name !== left), long: all });
}

type Save = () => Promise<void>;
type Lose = (as: 'primary' | 'standby', first?: (sql: Backend['sql']) => Promise<void>) => Promise<void>;

export interface LossyStage {
  readonly backend: Backend;
  /** Between the processes and the processor. */
  readonly proxy: ProcessorProxy;
  readonly tills: readonly [WholeTill, WholeTill];
  /** Copies the files of the server, as they are now. */
  readonly save: Save;
  /** The server dies, and another one on the copy takes its place. `first` runs before any process reaches it. */
  readonly lose: Lose;
}

/** Two processes, and a way to their database that can lead to another server. */
export async function startLossyStage(t: TestContext): Promise<LossyStage> {
  let primary = await PostgresServer.start(replicaSettings);
  t.after(() => primary.remove());
  const line = await TcpLine.open(primary.socketPath);
  t.after(() => line.close());
  const backend = await startBackend(t, { databaseUrl: primary.urlBy(line.port) });
  const proxy = await startProcessorProxy(backend);
  const environment = {
    ...backendEnvironment({ ...backend, processorUrl: proxy.url }),
    EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true',
  };
  const start = async () => {
    const till = await startWholeTill(environment, { recoveryDelayMs });
    backend.atEnd(() => till.stop());
    return till;
  };
  const tills = [await start(), await start()] as const;
  let copy = '';
  return {
    backend,
    proxy,
    tills,
    save: async () => {
      primary.freeze();
      copy = await copyFiles(primary);
      primary.thaw();
    },
    lose: async (as, first = async () => {}) => {
      const former = primary;
      await former.stop('kill -9');
      primary = await startOnCopy(copy, as);
      if (as === 'standby') await promote(primary);
      const ends: (() => unknown)[] = [];
      await first(openSql(primary.url, (end) => void ends.push(end)));
      for (const end of ends) await end();
      line.leadTo(primary.socketPath);
      await former.remove();
    },
  };
}
