import { type IdCursorPage, pageById } from '../mirrors/id-cursor.ts';
import type { AuditEntry, NewAuditEntry } from '../model/audit-entry.ts';
import type { Clock } from '../platform/clock.ts';
import { newId } from '../platform/id.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import type { AuditFilter, AuditStore } from './audit-store.ts';

interface AuditParts {
  readonly database: Database;
  readonly store: AuditStore;
  readonly clock: Clock;
}

/** Who did what, and from where. Entries are only inserted. */
export class AuditLog {
  readonly #parts: AuditParts;

  constructor(parts: AuditParts) {
    this.#parts = parts;
  }

  /** Writes an entry in the transaction of what it describes. */
  write(tx: Transaction, entry: NewAuditEntry): void {
    const { text, values } = this.#parts.store.insertion(this.#withId(entry));
    tx.send(text, values);
  }

  /** Writes an entry about something that has no transaction of its own. */
  async writeAlone(entry: NewAuditEntry, db: Queryable = this.#parts.database): Promise<void> {
    const { text, values } = this.#parts.store.insertion(this.#withId(entry));
    await db.query(text, values);
  }

  /** Newest first. */
  list(
    filter: AuditFilter,
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<IdCursorPage<AuditEntry>> {
    const { database, store } = this.#parts;
    return pageById(`audit-log ${JSON.stringify(filter)}`, page, (before, count) =>
      store.list(database, filter, before, count),
    );
  }

  #withId(entry: NewAuditEntry): AuditEntry {
    const createdAt = this.#parts.clock.now();
    return { ...entry, id: newId(createdAt), createdAt };
  }
}
