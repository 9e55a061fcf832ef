/** The words of names and emails, in the search and in the filter `q` of the customers. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { searchable, soughtWords } from '#engine/search/searched-words.ts';
import { createCustomer, createPlan, type PageBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

interface Found {
  readonly objectId: string;
  readonly label: string;
  readonly matched: string;
  readonly exact: boolean;
}

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });

beforeEach(() => till.sql('truncate till.customers, till.plans cascade'));

async function search(text: string): Promise<readonly Found[]> {
  return (await till.get<{ data: readonly Found[] }>(`/search?q=${encodeURIComponent(text)}`)).data;
}

async function list(text: string): Promise<PageBody<{ id: string; name: string | null }>> {
  return till.get(`/customers?q=${encodeURIComponent(text)}`);
}

let emails = 0;

/** The email has no letters that a search could find. */
function customerNamed(name: string, email = `${++emails}@words.test`) {
  return createCustomer(till, { name, email });
}

/** Each text finds exactly these customers, in the search and in the list. */
async function finds(texts: readonly string[], ...names: readonly string[]): Promise<void> {
  for (const text of texts) {
    const found = await search(text);
    assert.deepEqual(found.map(({ label }) => label).toSorted(), names.toSorted(), `the search for ${text}`);
    const { data, total } = await list(text);
    assert.deepEqual(data.map(({ name }) => name).toSorted(), names.toSorted(), `the list of ${text}`);
    assert.equal(total, names.length);
  }
}

test('200: words are found in any order, in the name and the email together', async () => {
  await customerNamed('Samir Costa', 'finance@olive.test');
  await customerNamed('Costa Rica Tours');
  await finds(
    ['costa samir', 'SAMIR  Costa', 'Costa, Samir', 'sta mir', 'olive samir', 'costa fin', 'co sa'],
    'Samir Costa',
  );
  await finds(['costa', 'COSTA costa'], 'Samir Costa', 'Costa Rica Tours');
  await finds(['costa samir nobody', 'samircosta', 'amir rica'], ...[]);
  const matched = async (text: string) => (await search(text)).map((found) => [found.matched, found.exact]);
  assert.deepEqual(await matched('samir costa'), [['name', true]]);
  assert.deepEqual(await matched('costa samir'), [['name', false]]);
  assert.deepEqual(await matched('test olive'), [['email', false]]);
  assert.deepEqual(await matched('olive samir'), [['name', false]]);
});

test('200: accents and other marks are ignored, in the text and in the value', async () => {
  const pairs: readonly (readonly [string, ...string[]])[] = [
    ['Ünïcødé', 'unicode', 'UNICODE', 'Ünïcødé', 'U\u0308nicode', 'nico'],
    ['Søren Æbelø', 'soren aebelo', 'ÆBELØ'],
    ['Łukasz Đorđe', 'lukasz dorde', 'ŁUKASZ'],
    ['Þórr Straße', 'thorr strasse', 'STRASSE', 'STRAẞE'],
    ['Nguyễn Văn', 'nguyen van', 'văn nguyên'],
    ['Ｆｕｌｌ Width', 'full', 'ｗｉｄｔｈ'],
    ['ﬁnance', 'finance', 'inan'],
    ['Κώστας', 'κωστας', 'ΚΩΣΤΑΣ'],
    ['İstanbul Işık', 'istanbul', 'ISTANBUL', 'isik'],
    ['Артём Йот', 'артем', 'иот'],
    ['שָׁלוֹם', 'שלום', '\u200fשלום\u200e'],
    ['مُحَمَّد علي', 'محمد', 'علي محمد'],
    ['O’Brien', "o'brien"],
    ['Zero\u200bPoint', 'zeropoint'],
    ['क्षत्रिय', 'क्षत्रिय'],
  ];
  for (const [name] of pairs) await customerNamed(name);
  for (const [name, ...texts] of pairs) await finds(texts, name);
  // The marks of these are parts of the letters.
  await customerNamed('ガギグ');
  await finds(['カキク'], ...[]);
  await finds(['ｶﾞｷﾞ', 'ガギ'], 'ガギグ');
});

test('200: two Chinese, Japanese or Korean characters are found anywhere, shorter words at the beginning of words', async () => {
  for (const name of ['山田太郎', '東京 山本', '김철수', 'たなか はな', 'Li Xu', 'Xuan Li', '𠮷野家'])
    await customerNamed(name);
  await finds(['山田', '田太', '太郎', '郎 山田'.replace('郎 ', '')], '山田太郎');
  await finds(['山'], '山田太郎', '東京 山本');
  await finds(['田', '田山', '本 東京 山田'], ...[]);
  await finds(['山本 東京', '東京'], '東京 山本');
  await finds(['철수', '김철'], '김철수');
  await finds(['はな た', 'なか'], 'たなか はな');
  await finds(['𠮷野', '野家'], '𠮷野家');
  await finds(['xu li', 'x l'], 'Li Xu', 'Xuan Li');
  await finds(['li x'], 'Li Xu', 'Xuan Li');
  await finds(['u', 'an'], ...[]);
});

test('200: the index finds the same customers when the newest ones are others', async () => {
  for (const name of ['Samir Costa', 'Ünïcødé', '山田太郎', 'Li Xu', '100%_\\ Wool'])
    await customerNamed(name);
  await till.sql(`update till.customers set created_at = created_at - interval '1 year'`);
  await till.sql(
    `insert into till.customers (id, processor_customer_id, email, name, processor_as_of, processor_as_of_latest,
       created_at, updated_at)
     select gen_random_uuid(), 'cus_newer_' || n, 'newer' || n || '@words.test', 'Newer Costa', now(), now(), now(), now()
     from generate_series(1, 6000) as n`,
  );
  for (const [text, name] of [
    ['costa samir', 'Samir Costa'],
    ['unicode', 'Ünïcødé'],
    ['山田', '山田太郎'],
    ['田太', '山田太郎'],
    ['xu', 'Li Xu'],
    ['xu l', 'Li Xu'],
    ['wool 100%_\\', '100%_\\ Wool'],
  ] as const)
    await finds([text], name);
});

test('200: the words of plans', async () => {
  const plan = await createPlan(till, { name: 'Café Größe 山田 yearly' });
  for (const text of ['yearly cafe', 'GROSSE', '山田', 'ye', 'café gröss'])
    assert.deepEqual(
      (await search(text)).map(({ objectId }) => objectId),
      [plan.id],
      text,
    );
  for (const text of ['rly', 'yearly tea', 'ly']) {
    const found = await search(text);
    assert.equal(found.length, text === 'rly' ? 1 : 0, text);
  }
});

test('200: no wildcards, no words, many words and hostile characters', async () => {
  await customerNamed('a%b_c\\d Ada');
  await customerNamed('😀🎉 Party');
  await finds(['a%b', 'b_c', 'c\\d', '%b_c\\'], 'a%b_c\\d Ada');
  await finds(['%%%', 'a%d', 'a_b', '___', '\\\\\\', '%', '_'], ...[]);
  await finds(['😀🎉', 'party 😀'], '😀🎉 Party');
  // Nothing is left of these.
  await finds(['´', '\u0301', '\u0301\u0308\u0327', ',', ' , , ', '\u200f', '\u3164'], ...[]);
  // Only the first eight words count.
  const first = 'ada a%b b_c c\\d a%b_ %b_c _c\\d %b_';
  await finds([`${first} nobody`, `${'ada '.repeat(63)}`], 'a%b_c\\d Ada');
  await finds([`nobody ${first}`], ...[]);
  const letters = Array.from({ length: 127 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join(' ');
  await finds([letters, 'ﷺ'.repeat(255), '\u{10ffff}\u{10ffff}', '\u{e0001}x'], ...[]);
  for (const path of ['/search?q=', '/customers?q=']) {
    await readProblem(await till.call('GET', `${path}a%00b`), 400, 'invalid_request');
    // Half of a pair, and half of an escape.
    for (const text of ['%ED%A0%80', 'x%F'])
      assert.partialDeepStrictEqual(await till.get<object>(`${path}${text}`), { data: [] });
  }
});

test('200: a name of the longest characters is stored and found', async () => {
  await customerNamed('ﷺ'.repeat(256));
  await customerNamed('🏴'.repeat(128));
  await customerNamed('Ａ'.repeat(256));
  assert.equal((await list('صلى')).total, 1);
  assert.equal((await list('a'.repeat(200))).total, 1);
});

test('the database and the service read a text in the same way', async () => {
  const texts = [
    ...[
      'Ünïcødé',
      'ΟΔΥΣΣΕΑΣ',
      'İI ıi',
      'ẞß æÆ œŒ þÞ',
      '  a \t\n b  ',
      'ｶﾞ ガ 김 한글',
      '山田 太',
      'a%b_c\\',
      '😀 🎉x',
      '',
    ],
    ...[
      '´',
      '\u0301',
      'é\u0301\u0301',
      'שָׁלוֹם',
      'مُحَمَّد',
      '\u200fa\u200e',
      '\u00a0\u2003\u3000x',
      'ﷺ'.repeat(255),
      'ﬁ ½ ™ ㎏',
    ],
    ...[
      'ada, lovelace,ada',
      'a b c d e f g h i j',
      '\u{10ffff}',
      '𠮷 𠮷野',
      'O’Brien–Smith',
      '\u1680\u2028\u0085',
      'ǅ Ǆ ŉ ſ K Å',
    ],
    ...['x'.repeat(600), 'é'.repeat(600), 'ÀÉÎÕÜ ñ ç ğ ş ő ű ž', 'Жук Ёж Їжак', 'Ἀθῆναι', 'ทดสอบ', 'क्षत्रिय'],
  ];
  const rows = await till.sql<{ plain: string; words: readonly string[] }>(
    `select till.searchable(one) as plain, till.sought_words(one) as words
     from unnest($1::text[]) with ordinality as texts (one, place) order by place`,
    [texts],
  );
  assert.deepEqual(
    rows.map(({ plain, words }) => [plain, words]),
    texts.map((text) => [searchable(text), soughtWords(text)]),
  );
});

test('nothing that is searched stays of a deleted customer', async () => {
  const customer = await customerNamed('Ünïcødé', 'gone@words.test');
  const stored = () => till.sql<{ searched: string | null }>('select searched from till.customers');
  assert.deepEqual(await stored(), [{ searched: ' unicode\n gone@words.test' }]);
  assert.equal((await till.call('DELETE', `/customers/${customer.id}`)).status, 204);
  assert.deepEqual(await stored(), [{ searched: null }]);
  await finds(['unicode', 'gone'], ...[]);
});
