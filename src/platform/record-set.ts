/**
 * Rows as one parameter of a statement: `from jsonb_to_recordset($1::jsonb) as v (id uuid, …)`. One statement handles
 * any number of rows, and its text does not depend on that number.
 */
export function recordSet(rows: readonly object[]): string {
  return JSON.stringify(rows);
}
