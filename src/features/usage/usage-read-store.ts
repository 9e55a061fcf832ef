import { instantText } from '#core/platform/instant.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { ListPosition } from '#engine/mirrors/list-cursor.ts';

export interface DayTotal {
  readonly date: string;
  readonly quantity: number;
}

export interface ListedUsage {
  readonly id: string;
  readonly customerId: string;
  readonly meterId: string;
  readonly quantity: number;
  readonly at: Date;
  readonly createdAt: Date;
  /** The position in the list: microseconds since 1970, and an order of events of the same time. */
  readonly atMicros: string;
  readonly place: string;
}

/** The events of a customer, from the day `from` on and before the day `to`. */
interface Range {
  readonly customerId: string;
  readonly from: string;
  readonly to: string;
}

interface ListRange extends Range {
  /** Null for all meters. */
  readonly meterId: string | null;
  readonly position: ListPosition | undefined;
  readonly limit: number;
}

/** An order of events of the same time, in the form that cursors contain. */
const place = `md5(application || ' ' || id)::uuid`;

/** The SQL that reads usage events for people. */
export class UsageReadStore {
  totals(
    db: Queryable,
    { customerId, meterId, from, to }: Range & { readonly meterId: string },
  ): Promise<readonly DayTotal[]> {
    return db.query(
      `select day::text as date, sum(quantity)::bigint as quantity from till.usage_events
       where customer_id = $1 and meter_id = $2 and day >= $3::date and day < $4::date
       group by day order by day`,
      [customerId, meterId, from, to],
    );
  }

  /** The latest first. Ids of deleted customers begin with a space, which is not shown. */
  list(
    db: Queryable,
    { customerId, meterId, from, to, position, limit }: ListRange,
  ): Promise<readonly ListedUsage[]> {
    const after =
      position === undefined
        ? ''
        : `and at <= $6::timestamptz and (at, ${place}) < ($6::timestamptz, $7::uuid)`;
    return db.query(
      `select ltrim(id) as id, customer_id as "customerId", meter_id as "meterId", quantity, at,
         created_at as "createdAt", (extract(epoch from at) * 1000000)::bigint::text as "atMicros", ${place} as place
       from till.usage_events
       where customer_id = $1 and ($2::uuid is null or meter_id = $2) and day >= $3::date and day < $4::date ${after}
       order by at desc, ${place} desc limit $5`,
      [
        ...[customerId, meterId, from, to, limit],
        ...(position === undefined ? [] : [instantText(position.createdAt), position.id]),
      ],
    );
  }
}
