import { useState } from 'preact/hooks';
import { failureOf } from '../api/failure.ts';
import { till } from '../session.ts';
import { notify } from './notices.tsx';

/** The server ends an export after this time. */
const timeoutMs = 900_000;

/** Saves the filtered rows of a list as a CSV file. */
export function ExportButton({
  path,
  query,
}: {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}) {
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    if (isBusy) return;
    setBusy(true);
    try {
      const isComplete = await downloadCsv(path, query);
      if (!isComplete)
        notify('The file does not have all rows: there are too many. Use the filters to export the others.');
    } catch (error) {
      notify(`The export failed: ${failureOf(error).detail}`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" onClick={run} aria-busy={isBusy}>
      {isBusy ? 'Exporting…' : 'Export CSV'}
    </button>
  );
}

/**
 * Saves the rows of a list as a file. The API key must not be in an address, so a link to the export is not enough.
 * Returns whether the file has all rows: a file has a maximum.
 */
async function downloadCsv(path: string, query: Readonly<Record<string, string>>): Promise<boolean> {
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
