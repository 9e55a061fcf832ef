import type { AuditEntry, NewAuditEntry } from '#core/model/audit-entry.ts';
import { newId } from '#core/platform/id.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { type IdCursorPage, pageById } from '#engine/mirrors/id-cursor.ts';
import { type AuditFilter, AuditStore } from './audit-store.ts';

/** Who did what, and from where. Entries are only inserted. */
export class AuditLog {
  readonly #context: Platform;
  readonly #store = new AuditStore();

  constructor(context: Platform) {
    this.#context = context;
  }

  /** Writes an entry in the transaction of the action that it describes. */
  write(tx: Transaction, entry: NewAuditEntry): void {
    const { text, values } = this.#store.insertion(this.#withId(entry));
    tx.send(text, values);
  }

  /** Writes an entry about an action without a transaction. */
  async writeAlone(entry: NewAuditEntry, db: Queryable = this.#context.database): Promise<void> {
    const { text, values } = this.#store.insertion(this.#withId(entry));
    await db.query(text, values);
  }

  /** Newest first. */
  list(
    filter: AuditFilter,
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<IdCursorPage<AuditEntry>> {
    const { database } = this.#context;
    return pageById(`audit-log ${JSON.stringify(filter)}`, page, (before, count) =>
      this.#store.list(database, filter, before, count),
    );
  }

  #withId(entry: NewAuditEntry): AuditEntry {
    const createdAt = this.#context.clock.now();
    return { ...entry, id: newId(createdAt), createdAt };
  }
}
