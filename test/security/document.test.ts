import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** What the ASVS 4.0.3 asks for at level 1 or 2, by number; the others are of level 3 alone, or deleted. */
const asked = `
  1.1.1–7 1.2.1–4 1.4.1 1.4.4–5 1.5.1–4 1.6.1–4 1.7.1–2 1.8.1–2 1.9.1–2 1.10.1 1.11.1–2 1.12.2 1.14.1–6
  2.1.1–12 2.2.1–3 2.3.1–3 2.4.1–5 2.5.1–7 2.6.1–3 2.7.1–6 2.8.1–7 2.9.1–3 2.10.1–4
  3.1.1 3.2.1–4 3.3.1–4 3.4.1–5 3.5.1–3 3.7.1
  4.1.1–3 4.1.5 4.2.1–2 4.3.1–3
  5.1.1–5 5.2.1–8 5.3.1–10 5.4.1–3 5.5.1–4
  6.1.1–3 6.2.1–6 6.3.1–2 6.4.1–2
  7.1.1–4 7.2.1–2 7.3.1 7.3.3–4 7.4.1–3
  8.1.1–4 8.2.1–3 8.3.1–8
  9.1.1–3 9.2.1–4
  10.2.1–2 10.3.1–3
  11.1.1–8
  12.1.1–3 12.2.1 12.3.1–6 12.4.1–2 12.5.1–2 12.6.1
  13.1.1 13.1.3–5 13.2.1–3 13.2.5–6 13.3.1–2 13.4.1–2
  14.1.1–4 14.2.1–6 14.3.2–3 14.4.1–7 14.5.1–4`;

for (const document of ['docs/security.md', 'docs/asvs.md']) {
  test(`everything that ${document} names is there`, () => {
    const text = readFileSync(document, 'utf8');
    const named = [...text.matchAll(/`(\w[\w./-]*\.(?:ts|md|sql|json))`(?: "([^"]+)")?/g)];
    assert.ok(named.length > 40);
    for (const [, path = '', part = ''] of named) {
      assert.ok(existsSync(path), path);
      assert.ok(readFileSync(path, 'utf8').includes(part), `${path} "${part}"`);
    }
  });
}

test('docs/asvs.md has every requirement of levels 1 and 2 once, and counts the verdicts rightly', () => {
  const text = readFileSync('docs/asvs.md', 'utf8');
  const rows = [...text.matchAll(/^\| (\d[\d.–]*) \| [^|]+ \| ([a-z ]+) \| [^|]+ \|$/gm)];
  assert.deepEqual(
    rows.flatMap(([, range = '']) => numbersOf(range)),
    asked.trim().split(/\s+/).flatMap(numbersOf),
  );
  for (const verdict of ['holds', 'not applicable', 'operator', 'not met']) {
    const of = rows.filter(([, , given]) => given === verdict).flatMap(([, range = '']) => numbersOf(range));
    assert.match(text, new RegExp(`^\\| ${verdict} \\| .* \\| ${of.length} \\|$`, 'm'), verdict);
  }
});

/** `2.1.1–2.1.3`, or shorter `2.1.1–3`, is 2.1.1, 2.1.2 and 2.1.3. */
function numbersOf(range: string): readonly string[] {
  const [, section = '', first = '', last = first] =
    /^(\d+\.\d+)\.(\d+)(?:–(?:\d+\.\d+\.)?(\d+))?$/.exec(range) ?? assert.fail(range);
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, index) => `${section}.${Number(first) + index}`);
}
