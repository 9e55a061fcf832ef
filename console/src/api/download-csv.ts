import { send, withQuery } from './request.ts';

/**
 * Saves the rows of a list as a file. The key must not be in an address, so a link to the export is not enough. Returns
 * whether the list has more rows than a file may have.
 */
export async function downloadCsv(path: string, query: Readonly<Record<string, string>>): Promise<boolean> {
  const response = await send(withQuery(path, query), { headers: { accept: 'text/csv' } });
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = `${path.split('/').at(-1) ?? 'export'}.csv`;
  link.click();
  URL.revokeObjectURL(url);
  return response.headers.has('x-next-cursor');
}
