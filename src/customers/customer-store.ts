import type { List } from '../mirrors/list.ts';
import { byCondition, byTextOfAnyCase, type ConditionFilter } from '../mirrors/list-filter.ts';
import { type ListPage, type ListRequest, listPage } from '../mirrors/list-page.ts';
import { MirrorStore } from '../mirrors/mirror-store.ts';
import type { Customer } from '../model/customer.ts';
import { anyOf } from '../platform/any-of.ts';
import { beginsWith, comparedMax } from '../platform/begins-with.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import { computed, defineTable, immutable, mutable } from '../platform/table.ts';

const customerTable = defineTable<Customer>('customers', {
  id: immutable('uuid'),
  processorCustomerId: immutable('text'),
  email: mutable('text'),
  name: mutable('text'),
  phone: mutable('text'),
  externalId: mutable('text'),
  metadata: mutable('jsonb'),
  deletedAt: mutable('timestamptz'),
  processorAsOf: mutable('timestamptz'),
  processorAsOfLatest: mutable('timestamptz'),
  createdAt: immutable('timestamptz'),
  updatedAt: mutable('timestamptz'),
  revision: computed('integer'),
});

const { columns } = customerTable;

/** The text in which `q` is searched. A line break separates the name from the email, so that no match spans both. */
const partText = `lower(coalesce(name, '') || chr(10) || coalesce(email, ''))`;
const hasPart = (text: string) => `strpos(${partText}, lower(${text})) > 0`;
/**
 * Selects candidates by the index of trigrams. A few trigrams from different places in the text select nearly as few
 * rows as all of them, and read less of the index.
 */
const hasTrigrams = (text: string) =>
  `till.trigrams(${partText}) @> till.trigrams(lower(${text}), greatest(3, length(${text}) / 3))`;

/**
 * A part that more customers have is common: the newest customers with it are soon found by walking all customers from
 * the newest on. Otherwise the index finds all customers with the part, and they are sorted. Both take the same time
 * at about one in thirty of a million customers.
 */
const commonPartMin = 30_000;
/** A search compares this many of the newest customers before it uses an index. That takes some milliseconds. */
const newestCompared = 5_000;
/** Of the customers that the index finds, in any order, a search compares this many. That takes some milliseconds. */
const partsCompared = 2_000;

function byPart(toSql: (text: string) => string): ConditionFilter {
  return { ...byCondition(toSql), normalise: (text) => text.trim() };
}

export const customerList: List<Customer> = {
  table: customerTable,
  only: 'deleted_at is null',
  filters: {
    externalId: {
      column: 'id',
      toSql: (externalId) =>
        `(select customers.id from till.external_ids
          join till.customers on customers.id = customer_id and customers.external_id = external_ids.external_id
          where external_ids.external_id = ${externalId})`,
      normalise: (externalId) => externalId,
    },
    email: byTextOfAnyCase('email'),
    q: byPart(
      (text) => `id = any (array(select same.id from till.customers as same
        where deleted_at is null and ${hasTrigrams(text)} and ${hasPart(text)}))`,
    ),
  },
};

/** For a part that many customers have, or that is compared with few customers. */
const commonPartList: List<Customer> = {
  ...customerList,
  filters: { ...customerList.filters, q: byPart(hasPart) },
};

/** What other objects show of their customer. */
export type CustomerSummary = Pick<Customer, 'id' | 'externalId' | 'email' | 'name'>;

/** A deleted customer whose events have to be searched for personal data. */
export interface DeletedCustomer {
  readonly id: string;
  readonly processorCustomerId: string;
  /** Whether the first search for personal data has ended, at least ten minutes ago. */
  readonly isSearched: boolean;
}

/** All SQL for the customers. Rows of deleted customers stay, because webhooks still refer to them. */
export class CustomerStore extends MirrorStore<Customer> {
  readonly #commonMin: number;

  /** Tests set a lower limit. */
  constructor({ commonMin = commonPartMin } = {}) {
    super(customerTable, 'processorCustomerId');
    this.#commonMin = commonMin;
  }

  findLive(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    const sql = `select ${columns} from till.customers
      where id = ${anyOf('$1', 'uuid')} and deleted_at is null`;
    return db.query(sql, [ids], 'find_live_customers');
  }

  /**
   * Customers with this text in the email or the name, ignoring case: first those whose email it is, then those whose
   * email or name begins with it, then, with `withParts`, those that contain it; the newest first within each. The
   * newest customers are compared first. Only if they have too few matches are the indexes used, and then only up to a
   * limit, so that a search takes a bounded time: see decision 0054.
   */
  searchPeople(
    db: Queryable,
    text: string,
    { limit, withParts }: { readonly limit: number; readonly withParts: boolean },
  ): Promise<readonly Customer[]> {
    const wanted = 'lower($1::text)';
    const begins = (column: string) => beginsWith(`lower(${column})`, wanted);
    return db.query(
      `with newest as materialized (
         select id, lower(email) as email, lower(name) as name from till.customers where deleted_at is null
         order by created_at desc, id desc limit ${newestCompared}
       ),
       beginning as materialized (
         select id from newest where starts_with(email, ${wanted}) or starts_with(name, ${wanted}) limit $2
       ),
       containing as materialized (
         select id from newest where $3 and (strpos(email, ${wanted}) > 0 or strpos(name, ${wanted}) > 0) limit $2
       ),
       found as (
         select id from beginning union select id from containing
         union (select id from till.customers where deleted_at is null and lower(email) = ${wanted}
           order by lower(email) desc, created_at desc, id desc limit $2)
         -- A count is known before the rows are read, so that PostgreSQL reads none if there are enough.
         union (select id from till.customers
           where deleted_at is null and (select count(*) from beginning) < $2 and ${begins('email')}
           order by lower(email) using ~<~ limit ${comparedMax})
         union (select id from till.customers
           where deleted_at is null and name is not null and (select count(*) from beginning) < $2 and ${begins('name')}
           order by lower(name) using ~<~ limit ${comparedMax})
         union (select id from till.customers
           where deleted_at is null and $3 and (select count(*) from containing) < $2
             and ${hasTrigrams('$1::text')} and ${hasPart('$1::text')} limit ${partsCompared})
       )
       select ${columns} from till.customers where id in (select id from found)
       order by lower(email) = ${wanted} desc,
         (starts_with(lower(email), ${wanted}) or coalesce(starts_with(lower(name), ${wanted}), false)) desc,
         created_at desc, id desc
       limit $2`,
      [text, limit, withParts],
    );
  }

  /** Customers whose external id begins with this text: first the whole external id, then the newest. */
  searchExternalIds(db: Queryable, text: string, limit: number): Promise<readonly Customer[]> {
    return db.query(
      `select customer.* from (
         select external_id as found, customer_id from till.external_ids
         where claim_id is null and ${beginsWith('external_id', '$1::text')}
         order by external_id using ~<~ limit ${comparedMax}
       ) as matches
       -- The limit makes PostgreSQL look up each customer by its id.
       cross join lateral (
         select ${columns} from till.customers
         where id = customer_id and external_id = found and deleted_at is null limit 1
       ) as customer
       order by found = $1::text desc, customer."createdAt" desc, customer.id desc limit $2`,
      [text, limit],
    );
  }

  /** Customers after this id, ordered by id. */
  listLiveAfter(db: Queryable, id: string | null, limit: number): Promise<readonly Customer[]> {
    return db.query(
      `select ${columns} from till.customers where deleted_at is null and ($1::uuid is null or id > $1)
       order by id limit $2`,
      [id, limit],
    );
  }

  /**
   * Until this transaction ends, a deletion of these customers does not erase the metadata of their objects. Inserting
   * a row that refers to a customer takes the same lock, and so does storing an event with personal data. The lock
   * conflicts only with `awaitHolders`, so it can follow locks of other rows: see decision 0012 for the order of all
   * locks.
   */
  hold(tx: Transaction, ids: readonly string[]): void {
    const sql = `select id from till.customers where id = ${anyOf('$1', 'uuid')} order by id for key share`;
    if (ids.length > 0) tx.send(sql, [ids], 'hold_customers');
  }

  /**
   * Waits for the transactions that hold the customer. It is the only statement of its transaction, so that it holds no
   * other lock while it waits, and releases its own lock at once.
   */
  async awaitHolders(database: Database, key: string): Promise<void> {
    await database.query('select id from till.customers where processor_customer_id = $1 for update', [key]);
  }

  /** Makes the next search for personal data due, unless one has ended. Returns the id of the customer, if so. */
  async makeSearchDue(tx: Transaction, key: string): Promise<readonly string[]> {
    const rows = await tx.query<{ id: string }>(
      `update till.customers set erase_at = clock_timestamp()
       where processor_customer_id = $1 and deleted_at is not null and first_erased_at is null returning id`,
      [key],
    );
    return rows.map(({ id }) => id);
  }

  /** Deleted customers whose events are due for a search, the longest overdue first. */
  listToErase(db: Queryable, limit: number): Promise<readonly DeletedCustomer[]> {
    return db.query(
      `select id, processor_customer_id as "processorCustomerId", first_erased_at is not null as "isSearched"
       from till.customers
       where deleted_at is not null and erase_at is not null and erase_at <= now() order by erase_at limit $1`,
      [limit],
    );
  }

  /**
   * The first search can miss deliveries in progress: Till stores the response of an endpoint, which may contain
   * personal data from the event. So the search is repeated ten minutes later, when every delivery has ended. Both
   * times come from the database, because the clock of a process may be wrong.
   */
  async markErased(db: Queryable, { id }: DeletedCustomer): Promise<void> {
    await db.query(
      `update till.customers set erase_at =
         case when first_erased_at is null then now() + interval '10 minutes' end,
         first_erased_at = coalesce(first_erased_at, now())
       where id = $1`,
      [id],
    );
  }

  async list(db: Queryable, request: ListRequest): Promise<ListPage<Customer>> {
    const { q, email, externalId } = request.filters;
    // The other filters select so few customers that they are compared with the part.
    const isCompared = (email ?? externalId) !== undefined;
    const isCommon = q !== undefined && (isCompared || (await this.#isCommonPart(db, q.trim())));
    return listPage(db, isCommon ? commonPartList : customerList, request);
  }

  /** Both lists show the same rows. This only chooses the faster one. */
  async #isCommonPart(db: Queryable, text: string): Promise<boolean> {
    const [row] = await db.query<{ isCommon: boolean }>(
      `select count(*) > $2::bigint as "isCommon" from (select from till.customers
         where deleted_at is null and ${hasTrigrams('$1::text')} limit $2::bigint + 1) as matches`,
      [text, this.#commonMin],
    );
    return row?.isCommon === true;
  }

  /** What other objects show of their customers. Deleted customers are left out. */
  findSummaries(db: Queryable, ids: readonly string[]): Promise<readonly CustomerSummary[]> {
    const sql = `select id, external_id as "externalId", email, name from till.customers
      where id = ${anyOf('$1', 'uuid')} and deleted_at is null`;
    return db.query(sql, [ids], 'find_customer_summaries');
  }
}
