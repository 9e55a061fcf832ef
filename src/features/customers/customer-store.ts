import { requireFound } from '#core/errors.ts';
import type { Customer } from '#core/model/customer.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import { beginsWith, comparedMax } from '#core/platform/begins-with.ts';
import type { Database, Queryable, Transaction } from '#core/platform/postgres.ts';
import { anyOf, defineTable } from '#core/platform/table.ts';
import type { List } from '#engine/mirrors/list.ts';
import { byCondition, byTextOfAnyCase, type RowsFilter } from '#engine/mirrors/list-filter.ts';
import { listPage } from '#engine/mirrors/list-page.ts';
import { MirrorStore } from '#engine/mirrors/mirror-store.ts';
import { customerFields } from './customer-fields.ts';
import { choosing, hasParts, hasWords, peopleSearch } from './customer-words.ts';

const customerTable = defineTable<Customer>('customers', customerFields);

const { columns } = customerTable;

/** If a larger share of the sampled customers has a part, the newest ones are found by walking all customers. */
const commonShareMin = 0.1;
/**
 * A part that more customers than this have is common too. Otherwise the index finds all customers with the part, and
 * they are sorted. At about one in thirty of a million customers, both take the same time.
 */
const commonMin = 30_000;
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
    q: { ...byCondition(hasWords), normalise: normaliseWords },
  },
};

function normaliseWords(text: string): string {
  return text.trim();
}

/** The same list, for which the index finds the customers with these parts of words. */
function rareWordList(parts: readonly string[]): List<Customer> {
  const q: RowsFilter = {
    toRows: (add, text) => `select created_at, id from till.customers
      where deleted_at is null and ${hasParts(`${add(parts)}::text[]`)} and ${hasWords(add(text))}`,
    normalise: normaliseWords,
  };
  return { ...customerList, filters: { ...customerList.filters, q } };
}

/** A customer as other objects show it. */
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
   * Customers with the words of this text in the name or the email, in any order, ignoring case and accents: first
   * those whose email it is, then those whose email or name begins with it, then others; the newest first within each.
   */
  searchPeople(db: Queryable, text: string, limit: number): Promise<readonly Customer[]> {
    return db.query(peopleSearch(columns), [text, limit]);
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
   * conflicts only with `awaitHolders`, so it can follow locks of other rows: see decision 0027 for the order of all
   * locks.
   */
  hold(tx: Transaction, ids: readonly string[]): void {
    const sql = `select id from till.customers where id = ${anyOf('$1', 'uuid')} order by id for key share`;
    tx.send(sql, [ids], 'hold_customers');
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

  /**
   * Makes the next search for personal data due, unless one has already ended. Returns the id of the customer if it
   * did.
   */
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
    // The other filters select so few customers that each is compared with the part.
    const isCompared = q === undefined || (email ?? externalId) !== undefined;
    const parts = isCompared ? undefined : await this.#rareParts(db, normaliseWords(q));
    return listPage(db, parts === undefined ? customerList : rareWordList(parts), request);
  }

  /**
   * The parts of words by which the index finds few customers, or undefined if walking all customers is faster. Both
   * lists show the same rows.
   */
  async #rareParts(db: Queryable, text: string): Promise<readonly string[] | undefined> {
    const { share, min } = this.#common;
    const [row] = await db.query<{ parts: readonly string[]; isCommon: boolean }>(
      `with ${choosing('$1::text')},
       density as materialized (
         select count(*) filter (where ${hasWords('$1::text')}) >= $2::float8 * count(*) as is_dense from sample
       )
       select parts, is_dense or (select count(*) from (select from till.customers
         where not is_dense and parts <> '{}' and deleted_at is null and ${hasParts('(select parts from chosen)')}
         limit $3::bigint + 1) as matches) > $3::bigint as "isCommon"
       from chosen, density`,
      [text, share, min],
    );
    // A text without words has no parts, and matches no customer.
    return row === undefined || row.isCommon || row.parts.length === 0 ? undefined : row.parts;
  }

  /** The customers as other objects show them. Deleted customers are left out. */
  findSummaries(db: Queryable, ids: readonly string[]): Promise<readonly CustomerSummary[]> {
    const sql = `select id, external_id as "externalId", email, name from till.customers
      where id = ${anyOf('$1', 'uuid')} and deleted_at is null`;
    return db.query(sql, [ids], 'find_customer_summaries');
  }
}
