import type { Logger } from '#core/platform/logger.ts';
import { Shutdown } from '#core/platform/shutdown.ts';
import { ProcessGroup } from '../processes/process-group.ts';
import type { OwnSandbox, SandboxHost } from './compose-sandbox.ts';
import type { Config } from './config.ts';
import type { Start } from './start.ts';
import type { WelcomeFacts } from './welcome.ts';

/** After its stop delay, or 5 s of retirement, a process has 15 s for requests in progress, and the rest to close. */
const stopTimeoutMs = 30_000;
/** By then processes have ended, because each is killed after its time limit. */
const groupStopTimeoutMs = 90_000;

/** What this process runs: the whole service, the processes of the service, or one of them. */
export interface Service {
  readonly facts: WelcomeFacts;
  /** What SIGHUP does, unless it stops the service. */
  readonly reload: () => void;
  /** Resolves, with the reason, when the service must stop although no signal came. */
  readonly isOver?: Promise<OtherStopReason>;
  readonly stop: (reason: NodeJS.Signals | OtherStopReason) => Promise<boolean>;
}

/** Another process has taken over, or no process could be restarted. */
type OtherStopReason = 'retired' | 'failed';

interface GroupStart {
  readonly config: Config;
  readonly logger: Logger;
  readonly count: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Starts the embedded parts and the processes that share them. If it fails, nothing is left running. */
export async function startGroup({ config, logger, count, environment }: GroupStart): Promise<Service> {
  const shutdown = new Shutdown(logger);
  const address = { url: '' };
  const clock: { aheadSeconds: number; notify: (aheadSeconds: number) => Promise<void> } = {
    aheadSeconds: 0,
    notify: async () => {},
  };
  const onClock = async (aheadSeconds: number) => {
    clock.aheadSeconds = aheadSeconds;
    await clock.notify(aheadSeconds);
  };
  try {
    const { databaseUrl, sandbox } = await startEmbeddedParts(
      { config, logger, shutdown },
      { till: address, onClock },
    );
    const group = new ProcessGroup<WelcomeFacts>({
      count,
      environment,
      logger,
      stopTimeoutMs: config.stopDelaySeconds * 1_000 + stopTimeoutMs,
      seatOf: (number) => ({
        number,
        count,
        poolSize: shareOf(config.databasePoolSize, number, count),
        hasBackgroundWork: number === 1,
        databaseUrl,
        sandbox: sandbox && { ...sandbox, clockAheadSeconds: clock.aheadSeconds },
      }),
    });
    clock.notify = (aheadSeconds) => group.setClock(aheadSeconds);
    shutdown.add('processes', groupStopTimeoutMs, async () => {
      if (!(await group.stop())) throw new Error('a process did not end in order');
    });
    const facts = await group.start();
    address.url = facts.url;
    return {
      facts,
      reload: () => void group.replaceAll(),
      isOver: group.failed.then((why) => {
        logger.error({ why }, 'no process serves');
        return 'failed' as const;
      }),
      stop: () => shutdown.run(),
    };
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

/** The parent runs them, because they must outlive each of the processes. */
async function startEmbeddedParts(
  start: Pick<Start, 'config' | 'logger' | 'shutdown'>,
  host: SandboxHost,
): Promise<{
  readonly databaseUrl: string | undefined;
  readonly sandbox: OwnSandbox | undefined;
}> {
  const { config } = start;
  const hasDatabase = config.databaseUrl === undefined;
  const hasSandbox = config.processor.secretKey === undefined;
  if (!hasDatabase && !hasSandbox) return { databaseUrl: undefined, sandbox: undefined };
  const { startPostgres } = await import('./compose-database.ts');
  const { startOwnSandbox } = await import('./compose-sandbox.ts');
  return {
    databaseUrl: hasDatabase ? await startPostgres(start) : undefined,
    sandbox: hasSandbox ? await startOwnSandbox(start, host) : undefined,
  };
}

/** The connections of a process: all of them, divided as evenly as possible. */
function shareOf(poolSize: number, number: number, count: number): number {
  return Math.floor(poolSize / count) + (number <= poolSize % count ? 1 : 0);
}
