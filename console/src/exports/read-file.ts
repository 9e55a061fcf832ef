import { TillConnectionError, TillTimeoutError } from '@till/client';
import { streamed } from '../session.ts';
import { CsvRowCounter } from './csv-row-counter.ts';
import type { ArrivedFile } from './export-state.ts';

const csvType = 'text/csv';
/** The server ends a file after this time. */
const timeoutMs = 900_000;
/** The server begins a response within 30 seconds, and disconnects a reader that takes nothing for 45. */
const silenceMsMax = 60_000;
/** The browser can move such a part to the disk, so that a file of any size is not in the memory of the page. */
const partBytes = 4_000_000;

interface FileRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onRows: (rows: number) => void;
}

/**
 * Reads one file of a list to its end. A file that is not complete is an error. The API key must not be in an address,
 * so a link to the file is not enough.
 */
export async function readFile({
  path,
  query,
  signal,
  onRows,
}: FileRequest): Promise<ArrivedFile & { readonly blob: Blob }> {
  const call = { method: 'GET', path, idempotencyKey: undefined, attempts: 1 } as const;
  const silence = new Silence(() => new TillTimeoutError('the response does not go on', call));
  let blob: Blob | undefined;
  const counter = new CsvRowCounter();
  const till = streamed(csvType, async (body) => {
    const parts = new BlobParts();
    const reader = body.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      silence.end();
      counter.add(next.value);
      parts.add(next.value);
      onRows(counter.rows);
    }
    if (!counter.isAtRowEnd) throw new Error('the file breaks off');
    blob = parts.toBlob();
  });
  try {
    const { status, headers } = await till.request(
      { method: 'GET', path, query, headers: { accept: csvType } },
      { timeoutMs, totalTimeoutMs: timeoutMs, signal: AbortSignal.any([signal, silence.signal]) },
    );
    if (blob === undefined) throw new TillConnectionError('the response is no file', call, { status });
    const isCapped = headers.get('x-total-capped') === 'true';
    const total = headers.get('x-total-count');
    return {
      blob,
      rows: counter.rows,
      bytes: blob.size,
      total: total === null || isCapped ? undefined : Number(total),
      nextCursor: headers.get('x-next-cursor') ?? undefined,
    };
  } finally {
    silence.stop();
  }
}

/** Aborts after a time in which nothing arrived: a connection can die without an error. */
class Silence {
  readonly #controller = new AbortController();
  readonly #reason: () => Error;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(reason: () => Error) {
    this.#reason = reason;
    this.end();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Data has arrived. */
  end(): void {
    this.stop();
    this.#timer = setTimeout(() => this.#controller.abort(this.#reason()), silenceMsMax);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Collects bytes in parts. */
class BlobParts {
  readonly #parts: Blob[] = [];
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  #bytes = 0;

  add(piece: Uint8Array): void {
    // A response never has shared memory.
    this.#pieces.push(piece as Uint8Array<ArrayBuffer>);
    this.#bytes += piece.length;
    if (this.#bytes >= partBytes) this.#closePart();
  }

  toBlob(): Blob {
    this.#closePart();
    return new Blob(this.#parts, { type: csvType });
  }

  #closePart(): void {
    this.#parts.push(new Blob(this.#pieces));
    this.#pieces = [];
    this.#bytes = 0;
  }
}
