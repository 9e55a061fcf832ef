import { showExport } from './export-panel.tsx';
import { currentExport, isExporting, startExport } from './exports.ts';

/** Saves the filtered rows of a list as CSV files. While there is an export that is not complete, it leads there. */
export function ExportButton({
  path,
  query,
}: {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}) {
  const run = () => {
    const phase = currentExport.value?.phase ?? 'finished';
    if (phase === 'finished') startExport(path, query);
    else showExport();
  };
  return (
    <button type="button" onClick={run} aria-busy={isExporting.value}>
      {isExporting.value ? 'Exporting…' : 'Export CSV'}
    </button>
  );
}
