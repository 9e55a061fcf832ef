import type { AuditEntry } from '#core/model/audit-entry.ts';
import { idTime, isUuid } from '#core/platform/id.ts';
import { instantText, parseInstant } from '#core/platform/instant.ts';
import { Parameters, type Statement } from '#core/platform/parameters.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { WeeklyTable } from '#core/platform/weeks-store.ts';

export const auditWeeks: WeeklyTable = {
  name: 'audit_log',
  primaryKey: 'created_at, id',
  weeksBack: '1 week',
  removeWeek: 'till.drop_audit_week($1)',
  isWeekDone: () => 'true',
  isRowDone: 'true',
};

export interface AuditFilter {
  /** The name of an API key, or an e-mail address. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly objectId?: string | undefined;
  /** RFC 3339. */
  readonly createdAfter?: string | undefined;
  readonly createdBefore?: string | undefined;
}

type StoredEntry = Omit<AuditEntry, 'actor'> & AuditEntry['actor'];

/** All SQL for the audit log. */
export class AuditStore {
  insertion(entry: AuditEntry): Statement {
    const { actor, action, objectType, objectId, address, requestId, outcome } = entry;
    return {
      text: `insert into till.audit_log (id, created_at, key_name, person, action, object_type, object_id, address,
          request_id, outcome)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      values: [
        ...[entry.id, entry.createdAt, actor.keyName, actor.person],
        ...[action, objectType, objectId && spellingOf(objectId), address, requestId, outcome],
      ],
    };
  }

  /** Newest first, starting after the entry `before`. */
  async list(
    db: Queryable,
    filter: AuditFilter,
    before: string | null,
    limit: number,
  ): Promise<readonly AuditEntry[]> {
    const parameters = new Parameters();
    const { add } = parameters;
    const conditions = toConditions(filter, add);
    if (before !== null)
      conditions.push(`(created_at, id) < (${add(idTime(before))}::timestamptz, ${add(before)}::uuid)`);
    const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
    const { text, values } = parameters.statement(
      `select id, created_at as "createdAt", key_name as "keyName", person, action, object_type as "objectType",
         object_id as "objectId", address, request_id as "requestId", outcome
       from till.audit_log ${where} order by created_at desc, id desc limit ${add(limit)}`,
    );
    const rows = await db.query<StoredEntry>(text, values);
    return rows.map(({ keyName, person, ...entry }) => ({ ...entry, actor: { keyName, person } }));
  }
}

function toConditions(filter: AuditFilter, add: Parameters['add']): string[] {
  const { actor, action, objectId, createdAfter, createdBefore } = filter;
  const conditions: string[] = [];
  const compare = (value: unknown, condition: (parameter: string) => string) => {
    if (value !== undefined) conditions.push(condition(add(value)));
  };
  // An e-mail address has an @, and the name of an API key has none. So each kind is found with its own index.
  compare(actor, (parameter) => `${actor?.includes('@') ? 'person' : 'key_name'} = ${parameter}`);
  compare(action, (parameter) => `action = ${parameter}`);
  compare(objectId && spellingOf(objectId), (parameter) => `object_id = ${parameter}`);
  compare(createdAfter && toInstant(createdAfter), (parameter) => `created_at >= ${parameter}::timestamptz`);
  compare(createdBefore && toInstant(createdBefore), (parameter) => `created_at < ${parameter}::timestamptz`);
  return conditions;
}

/** The ids of the processor are case-sensitive, UUIDs are not. */
function spellingOf(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}

/** The schema accepts only texts that `parseInstant` accepts. */
function toInstant(text: string): string {
  return instantText(parseInstant(text) ?? 0n);
}
