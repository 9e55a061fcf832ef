import { till } from '../session.ts';

/** The server ends an export after this time. */
const timeoutMs = 900_000;

/**
 * Saves the rows of a list as a file. The API key must not be in an address, so a link to the export is not enough.
 * Returns whether the file has all rows: a file has a maximum.
 */
export async function downloadCsv(path: string, query: Readonly<Record<string, string>>): Promise<boolean> {
  const { text, headers } = await till().request(
    { method: 'GET', path, query, headers: { accept: 'text/csv' } },
    { timeoutMs, totalTimeoutMs: timeoutMs },
  );
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${path.split('/').at(-1) ?? 'export'}.csv`;
  link.click();
  URL.revokeObjectURL(url);
  return !headers.has('x-next-cursor');
}
