import { Type } from 'typebox';
import { type CsvColumn, csvLine, headerLine } from './csv.ts';
import { csvLimits, csvType } from './csv-exports.ts';

interface JsonAnswer {
  readonly description: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** How an export differs from a page, for the documentation of every list. */
const description =
  `With \`Accept: ${csvType}\`: a file of all objects that the filters select, in the same order, from \`cursor\` on or ` +
  `from the start; \`limit\` does not count, and \`page\` is not allowed. It has at most ${csvLimits.rowsMax.toLocaleString('en')} ` +
  'rows; if there are more, the header `x-next-cursor` is the `cursor` of the next file. The columns are the fields of ' +
  'the objects, those of nested objects with a dot. Objects with keys of your own are JSON, and null is empty. A text ' +
  "that a spreadsheet would run as a formula begins with an apostrophe ('), also after a semicolon, a tab or a line end. " +
  'Semicolons in JSON are written `\\u003b`.';

/** The response of a list, as a page or as a file. */
export function withCsv<Answer extends JsonAnswer>(
  answer: Answer,
  columns: readonly CsvColumn[],
  example: unknown,
) {
  const file = headerLine(columns) + csvLine(columns, example);
  const csv = { schema: Type.String({ description }), examples: { example: { value: file } } };
  return {
    ...answer,
    headers: {
      'x-next-cursor': Type.String({
        description: 'Of a CSV file that does not contain all objects: the `cursor` of the next file.',
      }),
    },
    content: { ...answer.content, [csvType]: csv },
  };
}
