import { commandLine } from '#core/model/audit-entry.ts';
import { type AuditedRequest, runWithCause } from '#core/platform/cause.ts';
import type { AuditLog } from '#operators/audit/audit-log.ts';

/** What a command does, in the words of the API. */
interface AuditedCommand {
  readonly action: string;
  readonly objectType: string;
  /** Null if the command creates the object. */
  readonly objectId: string | null;
  readonly outcome: number;
}

/** Runs the work of a command. The transaction of its change writes the entry, as for a request. */
export function runAudited<Result>(
  log: Pick<AuditLog, 'write'>,
  { objectId, ...command }: AuditedCommand,
  work: () => Promise<Result>,
): Promise<Result> {
  const actor = { keyName: null, person: null };
  const audit: AuditedRequest = {
    objectId,
    write(tx) {
      log.write(tx, { ...command, actor, address: commandLine, requestId: null, objectId: audit.objectId });
    },
  };
  return runWithCause(undefined, work, { audit });
}
