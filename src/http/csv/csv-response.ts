import { Type } from '#core/platform/schemas.ts';
import { type CsvColumn, csvLine, headerLine } from './csv.ts';
import { csvLimits, csvType } from './csv-exports.ts';

interface JsonResponse {
  readonly description: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Not `toLocaleString`: the first use of `Intl` takes 40 ms, at every start. */
const grouped = (count: number) => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** How an export differs from a page, for the documentation of every list. */
const description =
  `With \`Accept: ${csvType}\`: a file of the objects that the filters select, in the same order, from \`cursor\` on or ` +
  'from the start; `limit` is ignored, and `page` is not allowed. A file has up to ' +
  `${grouped(csvLimits.fileRows)} rows. If more objects follow, the header \`x-next-cursor\` is the \`cursor\` of the next ` +
  'file. The header `x-total-count` has the number of objects in all files. Objects that begin to match while a file is ' +
  `sent are added to it; it breaks off if it would have more than ${grouped(csvLimits.rowsMax)} rows. The columns are ` +
  'the fields of the objects, those of nested objects with a dot. An amount has a second column in decimals, such as ' +
  '`amountDecimal`. Objects with keys of your own are JSON, and null is empty. A text ' +
  "that a spreadsheet would run as a formula begins with an apostrophe ('), and so does such a part of a text after a " +
  'semicolon, a tab or a line end. Semicolons in JSON are written `\\u003b`.';

/** The response of a list, as a page or as a file. `included`: the columns that `include=customer` adds. */
export function withCsv<Page extends JsonResponse>(
  page: Page,
  columns: readonly CsvColumn[],
  example: unknown,
  included: readonly CsvColumn[] = [],
) {
  const file = headerLine(columns) + csvLine(columns, example);
  const names = included.map(({ name }) => `\`${name}\``).join(' and ');
  const added = names === '' ? '' : ` With \`include=customer\`, the columns ${names} come last.`;
  const title = names === '' ? 'CsvFile' : 'CsvFileWithCustomers';
  const csv = {
    schema: Type.String({ title, description: `${description}${added}` }),
    examples: { example: { value: file } },
  };
  return {
    ...page,
    headers: {
      'x-total-count': Type.Integer({
        description:
          'Of a CSV file: the number of objects that the filters select, in all files, whatever `cursor` is. It is the ' +
          '`total` of a page: with a filter other than `customerId` it is counted up to 10,000.',
      }),
      'x-total-capped': Type.Boolean({
        description: 'Of a CSV file: whether there are more objects than `x-total-count`.',
      }),
      'x-next-cursor': Type.String({
        description: 'Of a CSV file: the `cursor` of the next file. Absent if no objects follow.',
      }),
    },
    content: { ...page.content, [csvType]: csv },
  };
}
