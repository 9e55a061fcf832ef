import type { ListRequest } from '#core/model/list-request.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { defineTable, immutable, mutable } from '#core/platform/table.ts';
import type { OwnedRows } from '#engine/mirrors/erased-store.ts';
import type { List } from '#engine/mirrors/list.ts';
import { listPage } from '#engine/mirrors/list-page.ts';
import { MirrorStore } from '#engine/mirrors/mirror-store.ts';
import type { Contact } from './contact.ts';

const table = defineTable<Contact>('contacts', {
  id: immutable('uuid'),
  processorCustomerId: immutable('text'),
  customerId: immutable('uuid'),
  email: mutable('text'),
  name: mutable('text'),
  processorAsOf: mutable('timestamptz'),
  processorAsOfLatest: mutable('timestamptz'),
  createdAt: immutable('timestamptz'),
  updatedAt: mutable('timestamptz'),
  revision: { type: 'integer', written: 'never' },
});

export const ownedContacts: OwnedRows = { table, columns: ['email', 'name'] };

export const contactList: List<Contact> = { table, filters: {} };

export class ContactStore extends MirrorStore<Contact> {
  constructor() {
    super('contact', table, 'processorCustomerId');
  }

  list(db: Queryable, request: ListRequest) {
    return listPage(db, contactList, request);
  }

  findByEmail(db: Queryable, email: string, limit: number): Promise<readonly Contact[]> {
    const sql = `select ${table.columns} from till.contacts where email = $1 limit $2`;
    return db.query(sql, [email, limit]);
  }
}
