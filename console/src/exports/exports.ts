import { computed, effect, signal } from '@preact/signals';
import { isTillError } from '@till/client';
import { failureOf } from '../api/failure.ts';
import { retryDelayMs } from '../api/retry-delay.ts';
import { notify } from '../parts/notices.tsx';
import { currentKey, isSignedIn, isSignedOut } from '../session.ts';
import { beginExport, type ExportState, linksToDrop, withFile } from './export-state.ts';
import { readFile } from './read-file.ts';

/** Nine million rows, which is more than a list has. An export of a list that grows as fast as it is read must end. */
const filesMax = 100;
/**
 * With the delays between them, a busy server has half a minute, or as long as it asks for, up to a minute each time.
 */
const attemptsMax = 8;
/** Links to save files again. Browsers keep large blobs on the disk. */
const keptBytesMax = 500_000_000;

/** The export of this tab, until the user closes it. There is one at a time: the server gives each user few of them. */
const current = signal<ExportState | undefined>(undefined);
export const currentExport = computed(() => current.value);
export const isExporting = computed(() => isActive(current.value));

/** Ends the requests of the running export. */
let running = new AbortController();

function isActive(state: ExportState | undefined): boolean {
  return state?.phase === 'running' || state?.phase === 'waiting';
}

/** Saves all rows as files, one after the other. Does nothing while there is an export that has not saved all rows. */
export function startExport(path: string, query: Readonly<Record<string, string>>): void {
  if (current.value !== undefined && current.value.phase !== 'finished') return;
  closeExport();
  run(beginExport(path, query, identity()));
}

/** Continues after the last complete file. */
export function continueExport(): void {
  if (current.value?.phase === 'stopped') run({ ...current.value, phase: 'running', reason: '' });
}

/** Files that are complete stay. */
export function cancelExport(): void {
  if (!isActive(current.value)) return;
  stop('You have canceled it.');
  if (current.value?.files.length !== 0) return;
  closeExport();
  notify('The export is canceled. No file is saved.');
}

/** The session ends. Its user can continue in the next one. */
export function interruptExport(): void {
  if (isActive(current.peek())) stop('The session has ended.');
}

/** Forgets an export that has ended, and the links of its files. */
export function closeExport(): void {
  if (isActive(current.value)) return;
  for (const { url } of current.value?.files ?? []) drop(url);
  current.value = undefined;
}

/** Stops the export with the session, and asks before the user closes the tab in the middle. */
export function watchExports(): () => void {
  const stops = [
    effect(() => {
      if (isSignedOut.value) leaveSession();
      else if (isSignedIn.value && current.peek() !== undefined && current.peek()?.owner !== identity())
        closeExport();
    }),
    effect(() => {
      if (!isExporting.value) return undefined;
      const ask = (event: Event) => event.preventDefault();
      addEventListener('beforeunload', ask);
      return () => removeEventListener('beforeunload', ask);
    }),
  ];
  return () => {
    for (const end of stops) end();
  };
}

/** Who has signed in. */
function identity(): string {
  const key = currentKey.value;
  return JSON.stringify([key?.id, key?.name, key?.person?.email]);
}

/** The next user of the browser must not find the files. The same user can continue. */
function leaveSession(): void {
  const state = current.peek();
  if (state === undefined) return;
  interruptExport();
  for (const { url } of state.files) drop(url);
  if (state.phase === 'finished') closeExport();
  change((now) => ({ ...now, files: now.files.map((file) => ({ ...file, url: undefined })) }));
}

function stop(reason: string): void {
  running.abort();
  change((state) => ({ ...state, phase: 'stopped', reason, rowsArriving: 0 }));
}

function change(to: (state: ExportState) => ExportState): void {
  const state = current.peek();
  if (state !== undefined) current.value = to(state);
}

function run(state: ExportState): void {
  const controller = new AbortController();
  running = controller;
  current.value = state;
  runFiles(state, controller.signal).catch((error: unknown) => {
    if (!controller.signal.aborted) stop(failureOf(error).detail);
  });
}

async function runFiles(start: ExportState, signal: AbortSignal): Promise<void> {
  let state = start;
  for (let count = 0; count < filesMax; count += 1) {
    const file = await readWithRetries(state, signal);
    signal.throwIfAborted();
    const url = URL.createObjectURL(file.blob);
    state = withFile(state, file, url);
    const name = state.files.at(-1)?.name ?? '';
    save(url, name);
    current.value = state;
    dropOldLinks();
    if (state.phase === 'finished') return finish(state);
    state = current.peek() ?? state;
  }
  stop(`The export stops after ${filesMax} files.`);
}

/** The browser shows where a single file is. Several stay listed, because the browser may hold some of them back. */
function finish({ files: [file, ...more] }: ExportState): void {
  if (file === undefined || more.length > 0) return;
  notify(`${file.name} is saved.`);
  closeExport();
}

/** Waits as long as a busy server asks for. The next attempt continues after the same row. */
async function readWithRetries(state: ExportState, signal: AbortSignal) {
  const { path, query, cursor } = state;
  for (let failures = 1; ; failures += 1)
    try {
      return await readFile({
        path,
        query: { ...query, ...(cursor === undefined ? {} : { cursor }) },
        signal,
        onRows: (rowsArriving) => {
          if (!signal.aborted) change((now) => ({ ...now, phase: 'running', rowsArriving }));
        },
      });
    } catch (error) {
      signal.throwIfAborted();
      const failure = failureOf(error);
      if (!isTillError(error) || !failure.isOutage || failures >= attemptsMax) throw error;
      change((now) => ({ ...now, phase: 'waiting', reason: failure.title, rowsArriving: 0 }));
      await pause(retryDelayMs({ failure, failures }, Math.random()), signal);
    }
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

function save(url: string, name: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}

function dropOldLinks(): void {
  const dropped = linksToDrop(current.peek()?.files ?? [], keptBytesMax);
  for (const { url } of dropped) drop(url);
  change((state) => ({
    ...state,
    files: state.files.map((file) => (dropped.includes(file) ? { ...file, url: undefined } : file)),
  }));
}

function drop(url: string | undefined): void {
  if (url !== undefined) URL.revokeObjectURL(url);
}
