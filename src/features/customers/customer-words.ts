import { beginsWith, comparedMax } from '#core/platform/begins-with.ts';

/** The SQL that finds customers by words of their names and emails. All arguments are SQL. */

/** Whether the name and the email together have every word of a text. Null if it has no words. */
export const hasWords = (text: string) =>
  `searched like all (till.word_patterns(till.sought_words(${text})))`;
/** Whether the index finds the customer by these parts of words. */
export const hasParts = (parts: string) => `till.search_parts(searched) @> ${parts}`;

/**
 * The number of the newest customers, and of the oldest, that are sampled for which parts of a text are common. They
 * are next to each other in the table, so that comparing them takes a millisecond or two.
 */
const sampledPerEnd = 100;
/** A longer text is compared only at about this many places, so that its length has no effect. */
const placesMax = 24;
/** If a larger share of the customers has a part, reading its list costs more than the part saves. */
const lookedUpShareMax = 0.25;
/** The rarest parts of a text. They are looked up even if they are common. */
const rarestLookedUp = 2;

const sampled = (order: 'desc' | 'asc') => `(select searched from till.customers
  where deleted_at is null order by created_at ${order}, id ${order} limit ${sampledPerEnd})`;

/**
 * The tables `sample`, `wanted` and `chosen`. `chosen` has the parts of words to look up. The index reads the list of
 * customers of the rarest part, and looks these customers up in the lists of the other parts. If most customers have a
 * part, its whole list would be read. So the rarest parts are looked up, and a few from different places, because the
 * neighbours of a rare part are mostly found in the same customers.
 */
export const choosing = (text: string) => `
  sample as materialized (${sampled('desc')} union all ${sampled('asc')}),
  wanted as materialized (
    select part, row_number() over (order by word_place, part_place) as place, count(*) over () as places,
      (select count(*) from sample where strpos(searched, part) > 0) as held
    from unnest(till.sought_words(${text})) with ordinality as words (word, word_place)
    cross join unnest(case when starts_with(word, ' ') then array[word] else till.word_parts(word) end)
      with ordinality as parts (part, part_place)
    where part_place % greatest(1, length(till.searchable(${text})) / ${placesMax}) in (0, 1)
  ),
  chosen as materialized (
    select array((select part from wanted order by held, place limit ${rarestLookedUp})
      union
      select part from wanted
      where held <= ${lookedUpShareMax} * (select count(*) from sample)
        and (place % greatest(3, places / 3) = 1 or place = places)) as parts
  )`;

/** A search compares this many of the newest customers before it uses an index. That takes some milliseconds. */
const newestCompared = 5_000;
/**
 * A search compares at most this many of the customers that the index finds, in any order. That takes some
 * milliseconds.
 */
const partsCompared = 2_000;

const nameOf = 'split_part(searched, chr(10), 1)';
const emailOf = 'split_part(searched, chr(10), 2)';
/** Null for a text without letters, because no value can begin with it. */
const beginning = `(' ' || nullif(till.searchable($1::text), ''))`;
const begins = `coalesce(starts_with(searched, ${beginning}) or strpos(searched, chr(10) || ${beginning}) > 0, false)`;

/**
 * Finds up to $2 customers for the text $1. The newest customers are compared first. Only if they have too few matches
 * are the indexes used, and then only up to a limit, so that a search takes a bounded time: see decision 0023.
 */
export const peopleSearch = (columns: string) => `
  with ${choosing('$1::text')},
  newest as materialized (
    select id, searched from till.customers where deleted_at is null
    order by created_at desc, id desc limit ${newestCompared}
  ),
  beginning as materialized (select id from newest where ${begins} limit $2),
  containing as materialized (select id from newest where ${hasWords('$1::text')} limit $2),
  found as (
    select id from beginning union select id from containing
    union (select id from till.customers where deleted_at is null and lower(email) = lower($1::text)
      order by lower(email) desc, created_at desc, id desc limit $2)
    -- A count is known before the rows are read, so that PostgreSQL reads none if there are enough.
    union (select id from till.customers
      where deleted_at is null and (select count(*) from beginning) < $2 and ${beginsWith(emailOf, beginning)}
      order by ${emailOf} using ~<~ limit ${comparedMax})
    union (select id from till.customers
      where deleted_at is null and name is not null and (select count(*) from beginning) < $2
        and ${beginsWith(nameOf, beginning)}
      order by ${nameOf} using ~<~ limit ${comparedMax})
    union (select id from till.customers
      where deleted_at is null and (select count(*) from containing) < $2
        and ${hasParts('(select parts from chosen)')} and ${hasWords('$1::text')} limit ${partsCompared})
  )
  select ${columns} from till.customers where id = any (array(select id from found))
  order by lower(email) = lower($1::text) desc, ${begins} desc, created_at desc, id desc
  limit $2`;
