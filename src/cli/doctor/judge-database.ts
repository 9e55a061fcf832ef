import type { DatabaseFacts } from '#core/platform/inspect-database.ts';
import type { RedisFacts } from '#core/platform/inspect-redis.ts';
import type { ReplicaFacts } from '#core/platform/inspect-replica.ts';
import type { PoolerFindings } from '#core/platform/pool-mode.ts';
import type { SecretCounts } from '#engine/events/endpoints/secret-upkeep.ts';
import type { BackfillState } from '#engine/sync/backfill.ts';
import { type Finding, Findings } from './finding.ts';

/** The oldest PostgreSQL that Till is tested with. */
const postgresVersionMin = 150_000;
/** The oldest Redis that Till is tested with. Every Valkey is newer. */
const redisMajorMin = 7;

const asOwner = 'Run "till migrate" with the DATABASE_URL of the role that owns the schema.';

/** `address` has no password. */
export function judgeDatabase(facts: DatabaseFacts, address: string): readonly Finding[] {
  const { version, versionNumber, isStandby, role } = facts;
  const findings = new Findings('database');
  const about = `PostgreSQL ${version} at ${address}`;
  if (versionNumber < postgresVersionMin)
    findings.problem(`${about} is too old.`, 'Use PostgreSQL 15 or newer.');
  else findings.ok(`${about} is reachable as the role ${role}.`);
  if (isStandby) findings.problem('The database is a standby.', 'Set DATABASE_URL to the primary server.');
  judgeSchema(facts, findings);
  judgeRole(facts, findings);
  return findings.all;
}

function judgeSchema({ schema, mayMigrate }: DatabaseFacts, findings: Findings): void {
  const { missing, newer, changed } = schema;
  if (changed.length > 0)
    findings.problem(
      `Migrations changed after they were applied: ${changed.join(', ')}.`,
      'Restore the files of the release.',
    );
  if (missing.length > 0 && mayMigrate)
    findings.warning(
      `The schema lacks ${missing.length} migrations of this release.`,
      'Start the service, which applies them, or run "till migrate".',
    );
  if (missing.length > 0 && !mayMigrate)
    findings.problem(
      `The schema lacks ${missing.length} migrations, and the role may not apply them.`,
      asOwner,
    );
  if (newer.length > 0)
    findings.warning(
      `The schema is newer than this release: it has ${newer.join(', ')}.`,
      'Run the newest release everywhere once the rolling upgrade has finished.',
    );
  if ([...missing, ...newer, ...changed].length === 0) findings.ok('The schema matches this release.');
}

function judgeRole({ role, isSuperuser, mayMigrate, closedTables }: DatabaseFacts, findings: Findings): void {
  if (isSuperuser)
    findings.warning(
      `The role ${role} is a superuser.`,
      'Use a role that owns only this database, or one with the grants of docs/security.md.',
    );
  else if (mayMigrate) findings.ok('The role may migrate the schema.');
  else
    findings.ok(`The role may not migrate the schema, which is safest. Before each new release: ${asOwner}`);
  if (closedTables.length > 0)
    findings.problem(
      `The role may not read and write these tables: ${closedTables.join(', ')}.`,
      'Repeat the grants of docs/security.md as the owner of the schema.',
    );
}

/** The secrets of event endpoints, and how the database holds them. */
export function judgeSecrets(
  { readable, outdated, unreadable }: SecretCounts,
  hasKeys: boolean,
): readonly Finding[] {
  const findings = new Findings('database');
  if (unreadable > 0)
    findings.problem(
      `Secrets of event endpoints that no key in EVENT_SECRET_KEYS decrypts: ${unreadable}.`,
      'Add the key that encrypted them to EVENT_SECRET_KEYS, or rotate the secrets of these endpoints.',
    );
  if (outdated > 0)
    findings.warning(
      `Secrets of event endpoints that are not encrypted with the first key of EVENT_SECRET_KEYS yet: ${outdated}.`,
      'Start the service, which encrypts them in the background. Until then, do not remove any key from EVENT_SECRET_KEYS.',
    );
  else if (hasKeys && readable > 0)
    findings.ok('All secrets of event endpoints are encrypted with the first key of EVENT_SECRET_KEYS.');
  return findings.all;
}

/** The rows that an upgrade left incomplete, and how far the service has completed them. */
export function judgeBackfills({ backfills, olderProcesses }: BackfillState): readonly Finding[] {
  const findings = new Findings('database');
  const fix =
    olderProcesses === 0
      ? 'Keep the service running, which completes them in the background.'
      : `Stop the processes of the older release that still run (${olderProcesses}). Then the service completes the rows.`;
  for (const { resource, endedAt, compared, changed, skipped } of backfills) {
    const counts = `${compared} objects compared, ${changed} rows completed`;
    if (endedAt === null)
      findings.warning(`Rows of the kind ${resource} lack fields of this release: ${counts} so far.`, fix);
    else if (skipped > 0)
      findings.warning(
        `Rows of the kind ${resource} may lack fields of this release: ${skipped} objects could not be compared.`,
        'Find the reasons in the log ("mirror comparison failed"). Then run "till resync --all".',
      );
    else findings.ok(`Rows of the kind ${resource} have all fields of this release: ${counts}.`);
  }
  return findings.all;
}

/** A replica that follows is seldom behind by more than a few of the log's files. */
const missingBytesMax = 64 * 1024 * 1024;

/** `address` has no password. */
export function judgeReplica(facts: ReplicaFacts, address: string): readonly Finding[] {
  const { isStandby, isOfPrimary, missingBytes } = facts;
  const findings = new Findings('database');
  if (!isStandby)
    findings.problem(
      `The server at ${address} is not a standby, so the primary serves all reads.`,
      'Set DATABASE_REPLICA_URL to a standby of the database, or unset it.',
    );
  else if (!isOfPrimary)
    findings.problem(
      `The replica at ${address} lacks what the primary wrote since its start, so the primary serves all reads.`,
      'Let the replica follow the server of DATABASE_URL. After a failover, it may have to be rebuilt.',
    );
  else if (missingBytes > missingBytesMax)
    findings.warning(
      `The replica at ${address} has ${Math.round(missingBytes / 1024 / 1024)} MB of the log still to replay.`,
      'Check its load and its connection. The metric replica_lag_seconds shows how far it is behind.',
    );
  else findings.ok(`The replica at ${address} follows the primary.`);
  return findings.all;
}

const poolModes: Readonly<Record<PoolerFindings['mode'], string>> = {
  none: 'No pooler is in front of the database.',
  session: 'A pooler in session mode is in front of the database.',
  transaction:
    'A pooler in transaction mode is in front of the database, and DATABASE_DIRECT_URL bypasses it.',
  statement: 'A pooler in statement mode is in front of the database.',
};

export function judgePooler({ mode, mistake }: PoolerFindings): readonly Finding[] {
  const findings = new Findings('database');
  if (mistake === undefined) findings.ok(poolModes[mode]);
  else {
    const [text = '', fix = ''] = mistake.split('; ');
    findings.problem(`${text}.`, fix.charAt(0).toUpperCase() + fix.slice(1));
  }
  return findings.all;
}

export function judgeRedis({ name, version, isReplica }: RedisFacts, address: string): readonly Finding[] {
  const findings = new Findings('cache');
  const about = `${name} ${version} at ${address}`;
  if (name === 'Redis' && Number.parseInt(version, 10) < redisMajorMin)
    findings.problem(`${about} is too old.`, 'Use Redis 7 or newer, or Valkey.');
  else if (isReplica) findings.problem(`${about} is a replica.`, 'Set REDIS_URL to the primary server.');
  else findings.ok(`${about} is reachable.`);
  return findings.all;
}
