import { plural } from '../format/words.ts';

/**
 * The API sends a list as files of a limited size, one after the other. This is the progress of an export of all files.
 */
export interface ExportState {
  /** The list that is exported: `customers`. */
  readonly list: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The user who started it. Another user of the same browser does not see it. */
  readonly owner: string;
  readonly phase: 'running' | 'waiting' | 'stopped' | 'finished';
  /** Why it waits or has stopped. */
  readonly reason: string;
  /** The complete files. */
  readonly files: readonly ExportedFile[];
  /** Where the next file begins. Undefined for the first one. */
  readonly cursor: string | undefined;
  /** The rows of the next file that have arrived. */
  readonly rowsArriving: number;
  /** The rows of all files. Undefined until it is known, and if there are too many to count. */
  readonly total: number | undefined;
}

export interface ExportedFile {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** Saves the file again, for as long as the page keeps it. */
  readonly url?: string | undefined;
}

/** A complete file, as the API has sent it. */
export interface ArrivedFile {
  readonly rows: number;
  readonly bytes: number;
  readonly total: number | undefined;
  readonly nextCursor: string | undefined;
}

export function beginExport(
  path: string,
  query: Readonly<Record<string, string>>,
  owner: string,
): ExportState {
  const list = path.split('/').at(-1) ?? 'rows';
  return {
    ...{ list, path, query, owner, phase: 'running', reason: '' },
    ...{ files: [], cursor: undefined, rowsArriving: 0, total: undefined },
  };
}

/** The name of the next file. A list in one file has no part number. */
export function fileNameOf({ list, files }: ExportState, hasMore: boolean): string {
  return files.length === 0 && !hasMore ? `${list}.csv` : `${list}-part-${files.length + 1}.csv`;
}

/** After a file is complete, the next one begins where it ended. */
export function withFile(state: ExportState, file: ArrivedFile, url?: string): ExportState {
  const { rows, bytes, total, nextCursor } = file;
  const hasMore = nextCursor !== undefined;
  const files = [...state.files, { name: fileNameOf(state, hasMore), rows, bytes, url }];
  const phase = hasMore ? 'running' : 'finished';
  return { ...state, phase, reason: '', files, cursor: nextCursor, rowsArriving: 0, total };
}

/** The rows in complete files. */
export function savedRows({ files }: ExportState): number {
  return files.reduce((sum, { rows }) => sum + rows, 0);
}

/** The links of old files go first, so that the page keeps a limited number of bytes. The newest file always stays. */
export function linksToDrop(files: readonly ExportedFile[], bytesMax: number): readonly ExportedFile[] {
  const kept = files.filter(({ url }) => url !== undefined).toReversed();
  let bytes = 0;
  return kept.filter((file, index) => {
    bytes += file.bytes;
    return index > 0 && bytes > bytesMax;
  });
}

/** The rows so far: 90,000 of 100,209 rows. */
export function countText(state: ExportState, rows: number): string {
  const { total } = state;
  // Rows that begin to match during an export are added to it.
  if (total === undefined || rows > total) return plural(rows, 'row');
  return `${new Intl.NumberFormat().format(rows)} of ${plural(total, 'row')}`;
}

/** The progress and the next step. A screen reader reads it, so it changes with each file, not with each row. */
export function statusText(state: ExportState): string {
  const { phase, list, files, reason } = state;
  const saved = countText(state, savedRows(state));
  const next = ordinal(files.length + 1);
  if (phase === 'finished')
    return `All ${plural(savedRows(state), 'row')} saved in ${plural(files.length, 'file')}.`;
  if (phase === 'stopped')
    return files.length === 0
      ? `Nothing is saved yet. ${reason}`
      : `${saved} saved. The ${next} file is missing. ${reason}`;
  if (phase === 'waiting') return `${beforeOf(state)}${reason}: the ${next} file is tried again.`;
  return files.length === 0 ? `Exporting ${list}…` : `${saved} saved, the ${next} file follows.`;
}

function beforeOf(state: ExportState): string {
  return state.files.length === 0 ? '' : `${countText(state, savedRows(state))} saved. `;
}

const ordinals = [
  'first',
  'second',
  'third',
  'fourth',
  'fifth',
  'sixth',
  'seventh',
  'eighth',
  'ninth',
  'tenth',
];
const suffixes: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd', other: 'th' };

/** The ordinal number in words, and from the eleventh on as 11th. */
export function ordinal(place: number): string {
  const suffix = suffixes[new Intl.PluralRules('en', { type: 'ordinal' }).select(place)] ?? 'th';
  return ordinals[place - 1] ?? `${place}${suffix}`;
}
