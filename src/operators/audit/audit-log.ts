import type { AuditEntry, NewAuditEntry } from '#core/model/audit-entry.ts';
import { newId } from '#core/platform/id.ts';
import type { PlatformParts } from '#core/platform/parts.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { type IdCursorPage, pageById } from '#engine/mirrors/id-cursor.ts';
import type { AuditFilter, AuditStore } from './audit-store.ts';

interface AuditParts extends Pick<PlatformParts, 'database' | 'clock'> {
  readonly store: AuditStore;
}

/** Who did what, and from where. Entries are only inserted. */
export class AuditLog {
  readonly #parts: AuditParts;

  constructor(parts: AuditParts) {
    this.#parts = parts;
  }

  /** Writes an entry in the transaction of the action that it describes. */
  write(tx: Transaction, entry: NewAuditEntry): void {
    const { text, values } = this.#parts.store.insertion(this.#withId(entry));
    tx.send(text, values);
  }

  /** Writes an entry about an action without a transaction. */
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
