-- What the lists of the resources share: their totals, and the comparison of texts in searches.
set local lock_timeout = '5s';

-- The number of rows of each full list. Counting five million rows takes a third of a second; adding up these counters
-- takes a fraction of a millisecond. A counter has 32 shards, so that writers rarely wait for each other. A connection
-- always uses the same shard, because two connections that pick shards at random could deadlock.
create table till.list_counts (
  resource text not null,
  shard smallint not null,
  count bigint not null,
  primary key (resource, shard)
) with (fillfactor = 50);

create function till.add_to_list_count(resource text, delta bigint) returns void language sql as $$
  insert into till.list_counts as counts (resource, shard, count)
  select resource, pg_backend_pid() % 32, delta where delta <> 0
  on conflict on constraint list_counts_pkey do update set count = counts.count + excluded.count
$$;

create function till.count_inserted() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count(tg_table_name, (select count(*) from inserted));
  return null;
end $$;

-- A text as it is compared: without accents and other optional marks, in lower case, with single spaces. Compatible
-- characters are the same, such as full-width ones, and so are letters that Unicode does not decompose, such as ø. The
-- marks of Japanese and of the languages of India are parts of letters, so they stay. The length is limited, because
-- one character can become 18, and an index entry must fit into a page. `searchable` in src/engine/search is the
-- same for texts in memory.
create function till.searchable(content text) returns text
language plpgsql immutable strict parallel safe as $$
declare
  plain text := left(content, 500);
begin
  if octet_length(plain) = length(plain) then
    plain := lower(plain collate "C");
    -- The usual text of ASCII is ready.
    if plain !~ '  |[\t-\r]|^ | $' then
      return plain;
    end if;
  else
    -- Soft hyphens, accents, points and signs of vowels, invisible marks of the direction, variants.
    plain := regexp_replace(normalize(plain, nfkd),
      '[\u00AD\u0300-\u036F\u0483-\u0489\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u064B-\u065F'
      || '\u0670\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFE00-\uFE0F\uFE20-\uFE2F\uFEFF]', '', 'g');
    plain := translate(normalize(lower(plain), nfc), 'øØłŁđĐðÐħĦŧŦıς‘’ʼ‐‑–', 'oollddddhhttiσ''''''---');
    plain := replace(replace(replace(replace(plain, 'ß', 'ss'), 'ẞ', 'ss'), 'æ', 'ae'), 'Æ', 'ae');
    plain := replace(replace(replace(replace(plain, 'œ', 'oe'), 'Œ', 'oe'), 'þ', 'th'), 'Þ', 'th');
  end if;
  -- Explicit, because what `\s` means depends on the locale.
  return left(btrim(regexp_replace(plain, '[\t-\r \u0085\u1680\u2028\u2029]+', ' ', 'g')), 500);
end $$;

-- The parts by which an index finds a text within a word: three neighbouring characters from every place, and two if
-- both are Chinese, Japanese or Korean. None for a shorter word. The extension pg_trgm does nearly the same, but a
-- role may lack the right to create it, with the locale of the embedded database it ignores all letters but those of
-- ASCII, and it has no parts of two characters. PL/pgSQL is twice as fast here as SQL.
create function till.word_parts(word text) returns text[]
language plpgsql immutable strict parallel safe as $$
declare
  found text[] := '{}';
begin
  for place in 1 .. length(word) - 2 loop
    found := found || substr(word, place, 3);
  end loop;
  if octet_length(word) > length(word) and word ~ '[\u2E80-\u9FFF\uAC00-\uD7A3\U00020000-\U0003FFFF]{2}' then
    for place in 1 .. length(word) - 1 loop
      if substr(word, place, 2) ~ '^[\u2E80-\u9FFF\uAC00-\uD7A3\U00020000-\U0003FFFF]{2}$' then
        found := found || substr(word, place, 2);
      end if;
    end loop;
  end if;
  return found;
end $$;

-- The parts of all words of a text, and the first one or two characters of each word, after a space.
create function till.search_parts(content text) returns text[]
language plpgsql immutable strict parallel safe as $$
declare
  found text[] := '{}';
  word text;
begin
  foreach word in array string_to_array(translate(content, chr(10), ' '), ' ') loop
    continue when word = '';
    found := found || (' ' || left(word, 1)) || (' ' || left(word, 2)) || till.word_parts(word);
  end loop;
  return found;
end $$;

-- The first eight words to search for. A word without parts of its own follows a space: it is found only at the
-- beginning of a word.
create function till.sought_words(sought text) returns text[]
language sql immutable strict parallel safe as $$
  select array(
    select case when till.word_parts(word) = '{}' then ' ' || word else word end
    from unnest(string_to_array(replace(till.searchable(sought), ',', ' '), ' ')) with ordinality as words (word, place)
    where word <> '' group by word order by min(place) limit 8
  )
$$;

-- What a text with all these words is `like`. Null if there are no words.
create function till.word_patterns(words text[]) returns text[]
language sql immutable strict parallel safe as $$
  select nullif(array(
    select '%' || replace(replace(replace(word, '\', '\\'), '%', '\%'), '_', '\_') || '%' from unnest(words) as word
  ), '{}')
$$;
