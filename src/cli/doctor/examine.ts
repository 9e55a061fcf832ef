import { withDeadline } from '#core/platform/deadline.ts';
import { SandboxResetStore } from '#operators/sandbox-control/sandbox-reset-store.ts';
import { AccountStore } from '#processor/account/account-store.ts';
import type { Start } from '#runtime/composition/start.ts';
import type { CommandCall } from '../command.ts';
import { joinServices, withShutdown } from '../with-services.ts';
import { examineProcessor, type Remembered } from './examine-processor.ts';
import { type Finding, Findings } from './finding.ts';
import { checkTimeoutMs, guarded } from './guarded.ts';
import {
  judgeBackfills,
  judgeDatabase,
  judgePooler,
  judgeRedis,
  judgeReplica,
  judgeSecrets,
} from './judge-database.ts';
import { judgeSettings } from './judge-settings.ts';

/** Runs all checks at the same time. A check that fails or hangs does not affect the others. */
export async function examine(
  call: Pick<CommandCall, 'inspectConfig' | 'environment' | 'output' | 'signal'>,
  url: string | undefined,
): Promise<readonly Finding[]> {
  const settings = call.inspectConfig();
  const isWrong = (name: string) => settings.mistakes.some((mistake) => mistake.startsWith(name));
  const { processor: processorConfig } = settings.config;
  const { webhookSecrets } = processorConfig;
  const config = () => ({
    ...settings.config,
    // The findings replace the log.
    logLevel: 'silent' as const,
    // The adapter requires a value. This command verifies no webhook.
    processor: { ...processorConfig, webhookSecrets: webhookSecrets.length > 0 ? webhookSecrets : ['unset'] },
  });
  return withShutdown({ ...call, config }, async (start) => {
    const { secretKeyWarnings } = await import('#runtime/composition/compose-parts.ts');
    const database = isWrong('DATABASE_')
      ? Promise.resolve([])
      : guarded('database', 'Start the database, or correct DATABASE_URL.', () => examineDatabase(start));
    const remembered = database.then((findings) => {
      const isUsable = findings.length > 0 && findings.every(({ state }) => state !== 'problem');
      return isUsable
        ? withDeadline(readRemembered(start), checkTimeoutMs, 'reading').catch(() => undefined)
        : undefined;
    });
    const cache = isWrong('REDIS_URL')
      ? []
      : guarded('cache', 'Start Redis, or correct REDIS_URL.', () => examineCache(start));
    const processor =
      isWrong('PROCESSOR_SECRET_KEY') || isWrong('PROCESSOR_API_BASE')
        ? []
        : examineProcessor(start, { url, remembered });
    const secrets = isWrong('EVENT_SECRET_KEYS')
      ? []
      : remembered.then((found) => examineSecrets(start, found));
    const backfills = remembered.then((found) =>
      found === undefined ? [] : judgeBackfills(found.backfills),
    );
    const replica = remembered.then((found) => (found === undefined ? [] : examineReplica(start)));
    const found = await Promise.all([database, backfills, replica, secrets, cache, processor]);
    return [...judgeSettings(settings, secretKeyWarnings(settings.config)), ...found.flat()];
  });
}

async function examineDatabase(start: Start): Promise<readonly Finding[]> {
  const { config } = start;
  const { describeAddress, migrationsFolder } = await import('#runtime/composition/compose-database.ts');
  const { inspectDatabase } = await import('#core/platform/inspect-database.ts');
  const { inspectPooler } = await import('#core/platform/pool-mode.ts');
  const { databaseUrl, databaseDirectUrl } = config;
  if (databaseUrl === undefined) return examineEmbedded(start);
  const facts = await inspectDatabase(databaseDirectUrl ?? databaseUrl, migrationsFolder);
  const pooler = await inspectPooler(databaseUrl, databaseDirectUrl);
  return [...judgeDatabase(facts, describeAddress(databaseUrl)), ...judgePooler(pooler)];
}

/** Call it only if the primary can be read. */
async function examineReplica({ config }: Start): Promise<readonly Finding[]> {
  const { databaseUrl, databaseDirectUrl, databaseReplicaUrl: url } = config;
  const primaryUrl = databaseDirectUrl ?? databaseUrl;
  if (url === undefined || primaryUrl === undefined) return [];
  const { describeAddress } = await import('#runtime/composition/compose-database.ts');
  const { inspectReplica } = await import('#core/platform/inspect-replica.ts');
  const fix = 'Start the replica, or correct DATABASE_REPLICA_URL. Until then the primary serves all reads.';
  return guarded('database', fix, async () =>
    judgeReplica(await inspectReplica(url, primaryUrl), describeAddress(url)),
  );
}

async function examineEmbedded({ config, shutdown }: Start): Promise<readonly Finding[]> {
  const { migrationsFolder } = await import('#runtime/composition/compose-database.ts');
  const { inspectDatabase } = await import('#core/platform/inspect-database.ts');
  const { findRunningPostgres } = await import('#runtime/embedded-postgres.ts');
  const postgres = await findRunningPostgres(config.dataDir).catch(() => undefined);
  if (postgres === undefined) {
    const findings = new Findings('database');
    findings.warning(
      `The embedded PostgreSQL in ${config.dataDir} does not run.`,
      'Start the service: "till start".',
    );
    return findings.all;
  }
  shutdown.add('embedded PostgreSQL', checkTimeoutMs, () => postgres.stop());
  const facts = await inspectDatabase(postgres.url, migrationsFolder);
  // The role of the embedded server is a superuser, and no other service uses the server.
  return judgeDatabase({ ...facts, isSuperuser: false }, config.dataDir);
}

/** Undefined if the database is unreachable or not migrated. */
function examineSecrets({ config }: Start, found: Remembered | undefined): readonly Finding[] {
  return found === undefined ? [] : judgeSecrets(found.secrets, config.events.secretKeys.length > 0);
}

async function examineCache({ config }: Start): Promise<readonly Finding[]> {
  if (config.redisUrl === undefined) {
    const findings = new Findings('cache');
    findings.ok('The cache is inside the process, which is for a single process.');
    return findings.all;
  }
  const { describeAddress } = await import('#runtime/composition/compose-database.ts');
  const { inspectRedis } = await import('#core/platform/inspect-redis.ts');
  return judgeRedis(await inspectRedis(config.redisUrl), describeAddress(config.redisUrl));
}

const everyEvent = { state: undefined, type: undefined, objectId: undefined };

async function readRemembered(start: Start): Promise<Remembered> {
  const { services, database } = await joinServices(start);
  const account = await new AccountStore().read(database);
  const { data } = await services.webhookEvents.list(everyEvent, { page: 1, limit: 1 });
  const secrets = await services.secretUpkeep.count();
  const backfills = await services.backfills.read();
  const { rowsAreOfMs } = await new SandboxResetStore().read(database);
  return { account, lastReceivedAt: data[0]?.receivedAt ?? null, secrets, backfills, rowsAreOfMs };
}
