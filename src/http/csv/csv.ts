import { decimalAmount } from '#core/model/format-amount.ts';

/** A column of a file: its name, and where its value is in an object of the API. */
export interface CsvColumn {
  readonly name: string;
  readonly path: readonly string[];
  /** Where the currency of an amount is that the column shows in decimals. */
  readonly currencyPath?: readonly string[];
}

/** RFC 4180. */
const lineEnd = '\r\n';
/**
 * The beginning of a text that a spreadsheet runs as a formula, after spaces and quotes, which it may remove. Includes
 * texts that already have an apostrophe there. Some spreadsheets also run the full-width forms of the signs.
 */
const formula = /^(?:'*[\t\r\n]|['" \u00a0\u3000]*[=+\-@＝＋－＠])/;
/** The same after a character at which a reader that expects other separators may split. */
const formulaInside = /[;\t\r\n\v\f\u0085\u2028\u2029](?=['" \u00a0\u3000]*[=+\-@＝＋－＠])/g;
const plainNumber = /^[+-]?\d+(?:\.\d+)?$/;

/** The parts of a JSON schema that determine the columns. */
interface ColumnSchema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, object>>;
}

/**
 * The columns of objects with this schema: one for each field, and one for each field of a nested object, such as
 * `failure.code`. An object whose keys callers choose is one column. An amount has a second column in decimals, such as
 * `amountDecimal`. Its currency is in the same object, or in the one around it.
 */
export function columnsOf(
  schema: object,
  path: readonly string[] = [],
  currencyPath?: readonly string[],
): readonly CsvColumn[] {
  const { type, properties } = schema as ColumnSchema;
  const name = path.join('.');
  if (properties === undefined) {
    const isAmount = /^amount/.test(path.at(-1) ?? '') && [type].flat().includes('integer');
    if (!isAmount || currencyPath === undefined) return [{ name, path }];
    return [
      { name, path },
      { name: `${name}Decimal`, path, currencyPath },
    ];
  }
  const ownCurrency = 'currency' in properties ? [...path, 'currency'] : currencyPath;
  return Object.entries(properties).flatMap(([field, inner]) =>
    columnsOf(inner, [...path, field], ownCurrency),
  );
}

export function headerLine(columns: readonly CsvColumn[]): string {
  return columns.map(({ name }) => quoted(name)).join(',') + lineEnd;
}

export function csvLine(columns: readonly CsvColumn[], object: unknown): string {
  const valueAt = (path: readonly string[]) => path.reduce<unknown>(fieldOf, object);
  return (
    columns
      .map(({ path, currencyPath }) => {
        const value = valueAt(path);
        return currencyPath === undefined ? cellOf(value) : decimalCell(value, valueAt(currencyPath));
      })
      .join(',') + lineEnd
  );
}

function decimalCell(amount: unknown, currency: unknown): string {
  return typeof amount === 'number' && typeof currency === 'string' ? decimalAmount(amount, currency) : '';
}

function fieldOf(object: unknown, name: string): unknown {
  // A nested object that is null has no values.
  return object === null || object === undefined ? null : (object as Readonly<Record<string, unknown>>)[name];
}

/** Null is empty. An empty text is quoted, so that the two can be told apart. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return quoted(withoutFormula(value));
  // `\u003b` is the same JSON as a semicolon, and no reader splits there.
  if (typeof value === 'object') return quoted(JSON.stringify(value).replaceAll(';', '\\u003b'));
  return String(value);
}

/** An apostrophe makes a spreadsheet show the text instead of running it. */
function withoutFormula(text: string): string {
  const safe = text.replace(formulaInside, "$&'");
  return formula.test(text) && !plainNumber.test(text) ? `'${safe}` : safe;
}

function quoted(text: string): string {
  return text === '' || /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
