import { useState } from 'preact/hooks';
import { downloadCsv } from '../api/download-csv.ts';
import { failureOf } from '../api/failure.ts';
import { notify } from './notices.tsx';

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
