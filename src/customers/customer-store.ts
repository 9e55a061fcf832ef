import { requireFound } from '../errors.ts';
import type { List } from '../mirrors/list.ts';
import { byCondition, byTextOfAnyCase, type RowsFilter } from '../mirrors/list-filter.ts';
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
const hasTrigrams = (trigrams: string) => `till.trigrams(${partText}) @> ${trigrams}`;

/**
 * So many of the newest customers, and as many of the oldest, show which trigrams of a text are common. They are next to
 * each other in the table, so that comparing them takes a millisecond or two.
 */
const sampledPerEnd = 100;
/** A longer text is compared only at this many places, so that its length does not matter. */
const placesMax = 24;
/** A trigram that a larger share of the customers has selects too few rows for what reading its list costs. */
const lookedUpShareMax = 0.25;
/** The rarest trigrams of a text. They are looked up even if they are common. */
const rarestLookedUp = 2;

const sampled = (order: 'desc' | 'asc') => `(select ${partText} as content from till.customers
  where deleted_at is null order by created_at ${order}, id ${order} limit ${sampledPerEnd})`;

/**
 * The tables `sample`, `wanted` and `chosen`, which has the trigrams of a text to look up. The index reads the list of the
 * rarest one, and looks for its customers in the other lists. In the list of a trigram that most customers have it would
 * read every entry. So the rarest trigrams are looked up, and a few from different places, because the neighbours of a rare
 * trigram are mostly found in the same customers.
 */
const choosing = (text: string) => `
  sample as materialized (${sampled('desc')} union all ${sampled('asc')}),
  wanted as materialized (
    select part, place, count(*) over () as places,
      (select count(*) from sample where strpos(content, part) > 0) as held
    from unnest(till.trigrams(lower(${text}), greatest(1, length(${text}) / ${placesMax})))
      with ordinality as trigrams (part, place)
  ),
  chosen as materialized (
    select array((select part from wanted order by held, place limit ${rarestLookedUp})
      union
      select part from wanted
      where held <= ${lookedUpShareMax} * (select count(*) from sample)
        and (place % greatest(3, places / 3) = 1 or place = places)) as trigrams
  )`;

/** If a larger share of the sampled customers has a part, the newest ones are found by walking all customers. */
const commonShareMin = 0.1;
/**
 * A part that more customers have is common too. Otherwise the index finds all customers with the part, and they are
 * sorted. Both take the same time at about one in thirty of a million customers.
 */
const commonMin = 30_000;
/** A search compares this many of the newest customers before it uses an index. That takes some milliseconds. */
const newestCompared = 5_000;
/** Of the customers that the index finds, in any order, a search compares this many. That takes some milliseconds. */
const partsCompared = 2_000;

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
    q: { ...byCondition(hasPart), normalise: normalisePart },
  },
};

function normalisePart(text: string): string {
  return text.trim();
}

/** The same list, in which the index finds the customers with a part. */
function rarePartList(trigrams: readonly string[]): List<Customer> {
  const q: RowsFilter = {
    toRows: (add, text) => `select created_at, id from till.customers
      where deleted_at is null and ${hasTrigrams(`${add(trigrams)}::text[]`)} and ${hasPart(add(text))}`,
    normalise: normalisePart,
  };
  return { ...customerList, filters: { ...customerList.filters, q } };
}

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
  readonly #common: { readonly share: number; readonly min: number };

  /** Tests set other limits. */
  constructor(common = { share: commonShareMin, min: commonMin }) {
    super('customer', customerTable, 'processorCustomerId');
    this.#common = common;
  }

  findLive(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    const sql = `select ${columns} from till.customers
      where id = ${anyOf('$1', 'uuid')} and deleted_at is null`;
    return db.query(sql, [ids], 'find_live_customers');
  }

  /** The customer with this id. Fails if there is none, or if it was deleted. */
  async readLive(db: Queryable, id: string): Promise<Customer> {
    const [customer] = await this.findLive(db, [id]);
    return requireFound('customer', customer);
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
      `with ${choosing('$1::text')},
       newest as materialized (
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
             and ${hasTrigrams('(select trigrams from chosen)')} and ${hasPart('$1::text')} limit ${partsCompared})
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

  /** The customer with this key, which this transaction then holds. See `hold`. */
  async findHeld(tx: Transaction, key: string): Promise<Customer | undefined> {
    const sql = `select ${columns} from till.customers where processor_customer_id = $1 for key share`;
    const [customer] = await tx.query<Customer>(sql, [key], 'find_held_customer');
    return customer;
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
  listToErase(db: Queryable, without: readonly string[], limit: number): Promise<readonly DeletedCustomer[]> {
    return db.query(
      `select id, processor_customer_id as "processorCustomerId", first_erased_at is not null as "isSearched"
       from till.customers
       where deleted_at is not null and erase_at is not null and erase_at <= now() and id <> all($1::uuid[])
       order by erase_at limit $2`,
      [without, limit],
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
    const isCompared = q === undefined || (email ?? externalId) !== undefined;
    const trigrams = isCompared ? undefined : await this.#rareTrigrams(db, normalisePart(q));
    return listPage(db, trigrams === undefined ? customerList : rarePartList(trigrams), request);
  }

  /**
   * The trigrams by which the index finds few customers, or undefined if walking all customers is faster. Both lists show
   * the same rows.
   */
  async #rareTrigrams(db: Queryable, text: string): Promise<readonly string[] | undefined> {
    const { share, min } = this.#common;
    const [row] = await db.query<{ trigrams: readonly string[]; isCommon: boolean }>(
      `with ${choosing('$1::text')},
       density as materialized (
         select count(*) filter (where strpos(content, lower($1::text)) > 0) >= $2::float8 * count(*) as is_dense
         from sample
       )
       select trigrams, is_dense or (select count(*) from (select from till.customers
         where not is_dense and deleted_at is null and ${hasTrigrams('(select trigrams from chosen)')}
         limit $3::bigint + 1) as matches) > $3::bigint as "isCommon"
       from chosen, density`,
      [text, share, min],
    );
    return row === undefined || row.isCommon ? undefined : row.trigrams;
  }

  /** What other objects show of their customers. Deleted customers are left out. */
  findSummaries(db: Queryable, ids: readonly string[]): Promise<readonly CustomerSummary[]> {
    const sql = `select id, external_id as "externalId", email, name from till.customers
      where id = ${anyOf('$1', 'uuid')} and deleted_at is null`;
    return db.query(sql, [ids], 'find_customer_summaries');
  }
}
