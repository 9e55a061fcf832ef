import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { plural } from '../format/words.ts';
import { countText, type ExportedFile, type ExportState, savedRows, statusText } from './export-state.ts';
import { cancelExport, closeExport, continueExport, currentExport, isExporting } from './exports.ts';

const panelId = 'export';
/** The export of a short list ends before a person could read its progress. */
const hiddenMs = 400;

/** Moves the focus to the export, which may be out of sight. */
export function showExport(): void {
  document.getElementById(panelId)?.focus();
}

/** The progress of the export, on every page, until the user closes it. */
export function ExportPanel() {
  const state = currentExport.value;
  const isShown = useIsShown(state);
  const keepFocus = useKeptFocus(state?.phase);
  const shown = isShown ? state : undefined;
  return (
    <section
      id={panelId}
      {...(shown === undefined ? {} : { class: 'export', 'aria-label': 'Export', tabIndex: -1 })}
      {...keepFocus}
    >
      {shown !== undefined && (
        <header class="section-header">
          <h2>Export of {shown.list}</h2>
          <div class="actions">
            <Buttons state={shown} />
          </div>
        </header>
      )}
      {/* It is always there, so that a screen reader notices what it says. */}
      <div role="status">{shown !== undefined && <p>{statusText(shown)}</p>}</div>
      {shown !== undefined && <Progress state={shown} />}
      {shown !== undefined && <Files files={shown.files} />}
    </section>
  );
}

function Buttons({ state: { phase, files } }: { readonly state: ExportState }) {
  if (phase === 'finished') return <Button label="Close" onClick={closeExport} />;
  if (phase !== 'stopped') return <Button label="Cancel export" onClick={cancelExport} />;
  return (
    <>
      <Button label={files.length === 0 ? 'Try again' : 'Continue'} onClick={continueExport} />
      <Button label={files.length === 0 ? 'Close' : 'Discard the rest'} onClick={closeExport} />
    </>
  );
}

/** The second click of a double click must not trigger the button that replaces the first one. */
function Button({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <button key={label} type="button" onClick={({ detail }) => detail <= 1 && onClick()}>
      {label}
    </button>
  );
}

function Progress({ state }: { readonly state: ExportState }) {
  if (state.phase === 'finished' || state.phase === 'stopped') return null;
  const rows = savedRows(state) + state.rowsArriving;
  const text = countText(state, rows);
  const { total } = state;
  return (
    <p class="number">
      <progress
        aria-label={`Rows of ${state.list}`}
        aria-valuetext={text}
        {...(total === undefined ? {} : { max: Math.max(total, 1), value: Math.min(rows, total) })}
      />{' '}
      {(rows > 0 || total !== undefined) && text}
    </p>
  );
}

function Files({ files }: { readonly files: readonly ExportedFile[] }) {
  if (files.length === 0) return null;
  return (
    <>
      <p class="quiet">
        Your browser may ask whether it may save several files. If one is missing, save it here:
      </p>
      <ul class="plain">
        {files.map(({ name, url, rows }) => (
          <li key={name}>
            {url === undefined ? (
              name
            ) : (
              <a href={url} download={name}>
                {name}
              </a>
            )}{' '}
            <span class="quiet">({plural(rows, 'row')})</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function useIsShown(state: ExportState | undefined): boolean {
  const [isDue, setDue] = useState(false);
  const isActive = isExporting.value;
  useEffect(() => {
    setDue(false);
    if (!isActive) return undefined;
    const timer = setTimeout(() => setDue(true), hiddenMs);
    return () => clearTimeout(timer);
  }, [isActive]);
  return state !== undefined && (isDue || !isActive || state.files.length > 0);
}

/** When the button that has the focus goes away, the panel gets it, or without a panel the page. */
function useKeptFocus(phase: ExportState['phase'] | undefined) {
  const focused = useRef<EventTarget | null>(null);
  useLayoutEffect(() => {
    const { current } = focused;
    if (!(current instanceof Node) || current.isConnected) return;
    focused.current = null;
    if (document.activeElement !== document.body) return;
    if (phase === undefined) document.getElementById('main')?.focus();
    else showExport();
  }, [phase]);
  return {
    onFocusIn: ({ target }: FocusEvent) => {
      focused.current = target;
    },
  };
}
