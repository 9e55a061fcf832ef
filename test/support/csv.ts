import assert from 'node:assert/strict';

/** The text of a cell, and null for an empty one without quotes. */
type Cell = string | null;

/** Reads a file of RFC 4180: CRLF after every line, quotes doubled inside of quotes. Refuses everything else. */
export function parseCsv(text: string): readonly (readonly Cell[])[] {
  const lines: Cell[][] = [];
  let line: Cell[] = [];
  let at = 0;
  while (at < text.length) {
    const [whole, quoted, plain] =
      /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?=,|\r\n)/.exec(text.slice(at, at + cellMax)) ?? [];
    assert.ok(whole !== undefined, `no cell at ${at}: ${JSON.stringify(text.slice(at, at + 50))}`);
    line.push(quoted?.replaceAll('""', '"') ?? (plain === '' ? null : (plain ?? null)));
    at += whole.length;
    if (text[at] === ',') at += 1;
    else {
      lines.push(line);
      line = [];
      at += 2;
    }
  }
  assert.deepEqual(line, [], 'the last line has its end');
  return lines;
}

/** Longer than any cell of a test. */
const cellMax = 20_000;

/** The objects of a file, by the names of their columns, with formulas as they were. */
export function readCsv(text: string): readonly Readonly<Record<string, Cell>>[] {
  const [header, ...lines] = parseCsv(text);
  return lines.map((line) => {
    assert.equal(line.length, header?.length);
    return Object.fromEntries(line.map((cell, index) => [header?.[index], withFormula(cell)]));
  });
}

function withFormula(cell: Cell): Cell {
  return (
    cell?.replaceAll(
      /(^|[;\t\r\n\v\f\u0085\u2028\u2029])'(?=['" \u00a0\u3000]*[=+\-@＝＋－＠])|^'(?='*[\t\r\n])/g,
      '$1',
    ) ?? null
  );
}

/** The same object as the API shows it in JSON, with the values of a file. */
export function flatten(object: object, columns: readonly string[]): Readonly<Record<string, Cell>> {
  return Object.fromEntries(
    columns.map((column) => {
      if (column.endsWith('Decimal')) {
        const name = column.slice(0, -'Decimal'.length);
        const amount = flatten(object, [name])[name];
        // The amounts of these files are in hundredths.
        return [column, amount == null ? null : (Number(amount) / 100).toFixed(2)];
      }
      const value = column.split('.').reduce<unknown>(
        // Every step but the last is an object of the API, or null.
        (from, name) => (from === null ? null : (from as Readonly<Record<string, unknown>>)[name]),
        object,
      );
      if (value === null) return [column, null];
      return [
        column,
        typeof value === 'object' ? JSON.stringify(value).replaceAll(';', '\\u003b') : String(value),
      ];
    }),
  );
}
