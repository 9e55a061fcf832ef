import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { type ChangedEndpoint, type EventEndpoint, endpointsMax, type NewEndpoint } from './endpoint.ts';

/** The advisory lock that lets one transaction at a time count the endpoints and add one ("tlee" in ASCII). */
const insertLock = 0x746c6565;

/** An endpoint whose lease was taken, and the history of the database in which it is valid. */
interface LeasedEndpoint extends EventEndpoint {
  readonly history: number;
}

/** An endpoint, and the process that delivers to it. */
export interface LeasableEndpoint extends EventEndpoint {
  /** The number of that process's owner lock. Null if there is none, or if its lease has expired. */
  readonly owner: number | null;
}

/** The replaced secrets that are still valid, newest first. */
const validReplaced = `(select coalesce(jsonb_agg(one order by place), '[]')
  from jsonb_array_elements(replaced_secrets) with ordinality as replaced (one, place)
  where (one ->> 'validUntil')::timestamptz > now())`;

const columns = `id, url, types, description, enabled, disabled_at as "disabledAt",
  disabled_reason as "disabledReason", failing_since as "failingSince", secret,
  ${validReplaced} as "replacedSecrets", position, revision, resend_revision as "resendRevision",
  created_at as "createdAt", updated_at as "updatedAt"`;

/**
 * Locks endpoints by their ids, in this order. Every statement that writes several endpoints does so, so that two of
 * them cannot wait for each other.
 */
const lockedInOrder = (condition: string) =>
  `id in (select id from till.event_endpoints where ${condition} order by id for no key update)`;

/** All SQL for event endpoints and their leases. */
export class EndpointStore {
  /** The endpoint receives events from now on. Undefined if there are too many endpoints. */
  async insert(
    tx: Transaction,
    id: string,
    { url, types, description }: NewEndpoint,
    secret: string,
  ): Promise<EventEndpoint | undefined> {
    tx.send('select pg_advisory_xact_lock($1)', [insertLock]);
    const rows = await tx.query<EventEndpoint>(
      `insert into till.event_endpoints (id, url, types, description, secret, position, created_at, updated_at)
       select $1, $2, $3, $4, $5, till.event_horizon(), now(), now()
       where (select count(*) from till.event_endpoints) < $6
       returning ${columns}`,
      [id, url, types, description, secret, endpointsMax],
    );
    return rows[0];
  }

  async find(db: Queryable, id: string): Promise<EventEndpoint | undefined> {
    const text = `select ${columns} from till.event_endpoints where id = $1`;
    return (await db.query<EventEndpoint>(text, [id]))[0];
  }

  async lock(tx: Transaction, id: string): Promise<EventEndpoint | undefined> {
    const text = `select ${columns} from till.event_endpoints where id = $1 for update`;
    return (await tx.query<EventEndpoint>(text, [id]))[0];
  }

  /** Locks the enabled endpoints that want events of this type. */
  lockWanting(tx: Transaction, type: string): Promise<readonly EventEndpoint[]> {
    return tx.query(
      `select ${columns} from till.event_endpoints where enabled and (types is null or $1 = any(types))
       order by id for update`,
      [type],
    );
  }

  /** Lets the lanes of these endpoints look for resends. */
  noteResends(tx: Transaction, ids: readonly string[]): void {
    tx.send('update till.event_endpoints set resend_revision = resend_revision + 1 where id = any($1)', [
      ids,
    ]);
  }

  /** Newest first, starting before `before`. */
  list(db: Queryable, before: string | null, limit: number): Promise<readonly EventEndpoint[]> {
    return db.query(
      `select ${columns} from till.event_endpoints where $1::uuid is null or id < $1 order by id desc limit $2`,
      [before, limit],
    );
  }

  async update(tx: Transaction, id: string, changed: ChangedEndpoint): Promise<EventEndpoint | undefined> {
    const { url, types, description, disabledReason, startsAfresh } = changed;
    const rows = await tx.query<EventEndpoint>(
      `update till.event_endpoints set url = $2, types = $3, description = $4, enabled = $5::text is null,
         disabled_reason = $5, disabled_at = case when $5::text is not null then coalesce(disabled_at, now()) end,
         failing_since = case when not $6 then failing_since end, updated_at = now()
       where id = $1 returning ${columns}`,
      [id, url, types, description, disabledReason, startsAfresh],
    );
    return rows[0];
  }

  /** The replaced secret stays valid for a day from now, however long the transaction waited for the lock. */
  async rotateSecret(tx: Transaction, id: string, secret: string): Promise<EventEndpoint | undefined> {
    const rows = await tx.query<EventEndpoint>(
      `update till.event_endpoints set secret = $2, updated_at = now(), replaced_secrets = jsonb_build_array(
         jsonb_build_object('secret', secret, 'validUntil', clock_timestamp() + interval '1 day')) || ${validReplaced}
       where id = $1 returning ${columns}`,
      [id, secret],
    );
    return rows[0];
  }

  /** The same secrets, encrypted in another way. The API does not show the difference. */
  async writeSecrets(
    tx: Transaction,
    id: string,
    { secret, replacedSecrets }: Pick<EventEndpoint, 'secret' | 'replacedSecrets'>,
  ): Promise<void> {
    await tx.query('update till.event_endpoints set secret = $2, replaced_secrets = $3 where id = $1', [
      id,
      secret,
      JSON.stringify(replacedSecrets),
    ]);
  }

  async dropExpiredSecrets(db: Queryable): Promise<void> {
    await db.query(
      `update till.event_endpoints set replaced_secrets = ${validReplaced}
       where ${lockedInOrder(`replaced_secrets <> ${validReplaced}`)}`,
    );
  }

  /** Goes back to a position. An endpoint that has not reached it yet does not move. */
  async goBack(tx: Transaction, id: string, position: number): Promise<EventEndpoint | undefined> {
    const rows = await tx.query<EventEndpoint>(
      `update till.event_endpoints set position = least(position, $2), revision = revision + 1, updated_at = now()
       where id = $1 returning ${columns}`,
      [id, position],
    );
    return rows[0];
  }

  /** False if there is no such endpoint. */
  async delete(db: Queryable, id: string): Promise<boolean> {
    const rows = await db.query('delete from till.event_endpoints where id = $1 returning 1 as deleted', [
      id,
    ]);
    return rows.length > 0;
  }

  /** The endpoints that get events. */
  listEnabled(db: Queryable): Promise<readonly LeasableEndpoint[]> {
    return db.query(
      `select ${columns}, case when leased_until > now() then owner end as owner
       from till.event_endpoints where enabled`,
    );
  }

  /**
   * Takes the lease if it is free, or if `from` holds it and has not renewed it for `staleMs`. Undefined if neither is
   * true.
   */
  async lease(
    db: Queryable,
    id: string,
    { owner, leaseMs, from, staleMs }: LeaseRequest,
  ): Promise<LeasedEndpoint | undefined> {
    const rows = await db.query<LeasedEndpoint>(
      `update till.event_endpoints set owner = $2, leased_until = now() + make_interval(secs => $3),
         history = till.history()
       where id = $1 and enabled and (owner is null or owner = $2 or leased_until <= now()
         or (owner = $4 and leased_until <= now() + make_interval(secs => $5)))
       returning ${columns}, history`,
      [id, owner, leaseMs / 1_000, from, (leaseMs - staleMs) / 1_000],
    );
    return rows[0];
  }

  /** Returns the endpoints whose leases the owner still holds. */
  async renew(db: Queryable, owner: number, leaseMs: number): Promise<ReadonlySet<string>> {
    const rows = await db.query<{ id: string }>(
      `update till.event_endpoints set leased_until = now() + make_interval(secs => $2)
       where ${lockedInOrder('owner = $1 and history = till.history()')} returning id`,
      [owner, leaseMs / 1_000],
    );
    return new Set(rows.map(({ id }) => id));
  }

  async release(db: Queryable, id: string, owner: number): Promise<void> {
    await db.query(
      'update till.event_endpoints set owner = null, leased_until = now() where id = $1 and owner = $2',
      [id, owner],
    );
  }

  /**
   * Records the owner's progress. Undefined if it no longer holds the lease, or if the endpoint went back to an earlier
   * position. `isDead`: nothing has succeeded for three days. `isBack`: this is the first success after more than a
   * minute.
   */
  async advance(
    tx: Transaction,
    id: string,
    progress: Progress,
  ): Promise<
    (Pick<EventEndpoint, 'types'> & { readonly isDead: boolean; readonly isBack: boolean }) | undefined
  > {
    const { owner, revision, position, hasSucceeded, hasFailed } = progress;
    const rows = await tx.query<
      Pick<EventEndpoint, 'types'> & { isDead: boolean | null; isBack: boolean | null }
    >(
      `update till.event_endpoints set position = $4,
         failing_since = case when $5 then null when $6 then coalesce(failing_since, now()) else failing_since end
       from (select failing_since as before from till.event_endpoints where id = $1 for update) as earlier
       where id = $1 and owner = $2 and revision = $3 and history = till.history()
       returning not $5 and $6 and before <= now() - interval '3 days' as "isDead",
         $5 and before <= now() - interval '1 minute' as "isBack", types`,
      [id, owner, revision, position, hasSucceeded, hasFailed],
      'advance_event_endpoint',
    );
    const [row] = rows;
    return row && { isDead: row.isDead === true, isBack: row.isBack === true, types: row.types };
  }

  async turnOff(tx: Transaction, id: string): Promise<void> {
    await tx.query(
      `update till.event_endpoints set enabled = false, disabled_at = now(), disabled_reason = 'failing', updated_at = now()
       where id = $1 and enabled`,
      [id],
    );
  }
}

interface LeaseRequest {
  readonly owner: number;
  readonly leaseMs: number;
  /** The process of this lease is gone. */
  readonly from: number | null;
  readonly staleMs: number;
}

interface Progress {
  readonly owner: number;
  readonly revision: number;
  readonly position: number;
  readonly hasSucceeded: boolean;
  readonly hasFailed: boolean;
}
