/**
 * Rows as one parameter of a set-wise statement: `from jsonb_to_recordset($1::jsonb) as v (id uuid, …)`. One statement
 * for any number of rows, and its text stays the same whatever their number.
 */
export function recordSet(rows: readonly object[]): string {
  return JSON.stringify(rows);
}
