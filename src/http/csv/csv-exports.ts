import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import { asksFor } from '../input/accept.ts';
import { endWithKey, keyEnded, type OpenReader, OpenReaders } from '../load/open-readers.ts';
import type { OpenRequests } from '../load/open-requests.ts';
import { type CsvColumn, csvLine, headerLine } from './csv.ts';

/** The limits of exports. Tests set lower ones. */
export const csvLimits = {
  /** The limit that the API documents. A file that would exceed it is cut off. */
  rowsMax: 100_000,
  /**
   * A file ends at this row of the list, as it is when the export begins. Objects that begin to match meanwhile, such
   * as payments that succeed, make the file longer: there is room for ten of them a second for as long as an export may
   * take.
   */
  fileRows: 90_000,
  /** A page takes some milliseconds, in which no request has its turn. A few are in memory at once. */
  pageRows: 200,
  /** The length of a page in characters, about: pages of rows with large metadata have fewer rows. */
  pageLength: 1_000_000,
  /** Until it is known how large the rows are. */
  firstPageRows: 50,
  /** Each takes one connection of the pool at a time, and about a tenth of a processor core. */
  exportsMax: 10,
  /** Enough for 100 MB over a slow line. A reader that reads nothing is disconnected much earlier. */
  timeMsMax: 900_000,
};

export type CsvLimits = typeof csvLimits;

/** Ten large files beside many requests would not end in time if they gave way for longer. */
const patientShare = 1 / 2;

export const csvType = 'text/csv';
const retryAfterSeconds = 5;

/** Where to read: this many rows after the cursor, or after the start, up to the last row of the file. */
export interface CsvPageRequest {
  readonly cursor: string | undefined;
  readonly upTo: string | undefined;
  readonly limit: number;
  /** Rows to skip before the page. Without it, the page has the total. */
  readonly skip: number | undefined;
}

interface CsvPage {
  /** Objects as the API shows them. */
  readonly data: readonly unknown[];
  /** As in JSON: counts the objects of all files, up to a limit. */
  readonly total: number;
  readonly totalCapped: boolean;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** A list that can be exported. */
export interface CsvSource {
  /** The name of the file. */
  readonly name: string;
  readonly columns: readonly CsvColumn[];
  /** Where to start. */
  readonly cursor?: string | undefined;
  readonly read: (page: CsvPageRequest) => Promise<CsvPage>;
}

declare module 'fastify' {
  interface FastifyInstance {
    csvExports: CsvExports;
  }
}

/** Whether a request asks for a file instead of JSON. A HEAD request has no body, so it gets the headers of a page. */
export function wantsCsv({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && asksFor(headers.accept, csvType);
}

/**
 * Sends lists as CSV (RFC 4180), page by page. The next page is read when the caller has read the one before, with a
 * statement of its own, so no transaction waits for the network.
 */
export class CsvExports {
  readonly #limits: CsvLimits;
  readonly #readers: OpenReaders;

  constructor(limits: CsvLimits) {
    this.#limits = limits;
    this.#readers = new OpenReaders({ max: limits.exportsMax });
  }

  /** Admits no more exports. */
  close(): void {
    this.#readers.close();
  }

  /** A failure of the first page still gets a problem response. */
  async send(request: FastifyRequest, reply: FastifyReply, source: CsvSource): Promise<FastifyReply> {
    const reader = this.#readers.admit(request, reply);
    if (reader === undefined) throw tooManyExports();
    const { fileRows, pageRows, firstPageRows } = this.#limits;
    const limit = Math.min(firstPageRows, pageRows, fileRows);
    const first = await source.read({ cursor: source.cursor, upTo: undefined, limit, skip: undefined });
    const nextFile = await this.#cursorOfNextFile(source, first);
    if (nextFile !== null) reply.header('x-next-cursor', nextFile);
    reply.headers({
      'x-total-count': String(first.total),
      'x-total-capped': String(first.totalCapped),
      'content-type': `${csvType}; charset=utf-8; header=present`,
      'content-disposition': `attachment; filename="${source.name}.csv"`,
      // The caller recognises an incomplete response only by how its connection ends.
      connection: 'close',
    });
    return reply.send(this.#stream(request, reply, { source, first, nextFile, reader }));
  }

  /**
   * The cursor of the last row of the file. Null if no rows follow it. It is counted from the first page, not from the
   * start of the list: rows that are created in between would move it, and the next file would skip or repeat rows.
   */
  async #cursorOfNextFile({ read }: CsvSource, { data, nextCursor }: CsvPage): Promise<string | null> {
    const rowsLeft = this.#limits.fileRows - data.length;
    if (nextCursor === null || rowsLeft === 0) return nextCursor;
    // Only an index is read to skip rows.
    const last = await read({ cursor: nextCursor, upTo: undefined, limit: 1, skip: rowsLeft - 1 });
    return last.nextCursor;
  }

  #stream(request: FastifyRequest, reply: FastifyReply, start: StartedExport): Readable {
    request.isStream = true;
    // From here on, the time limit below applies, and a caller that reads nothing is disconnected like any other.
    request.server.openRequests.leave(reply);
    const body = Readable.from(this.#lines(start, request.server.openRequests));
    const { signal } = start.reader.controller;
    // Data that the caller has not read yet is dropped too.
    signal.addEventListener('abort', () => void (reply.raw.closed || body.destroy(signal.reason)));
    const timer = setTimeout(
      () => body.destroy(new Error('the export took too long')),
      this.#limits.timeMsMax,
    );
    body.once('error', (error) => breakOff(request, reply, error));
    onClose(reply, () => {
      clearTimeout(timer);
      request.server.logRequest(request, reply);
    });
    return body;
  }

  /**
   * The rows before the next file, however many they are at this time: no row is in both files, and none is missing
   * between them.
   */
  async *#lines(
    { source, first, nextFile, reader }: StartedExport,
    openRequests: OpenRequests,
  ): AsyncGenerator<string, void> {
    const { columns, read } = source;
    const { signal } = reader.controller;
    const { rowsMax, pageRows, pageLength, timeMsMax } = this.#limits;
    const patientUntilMs = performance.now() + timeMsMax * patientShare;
    const linesOf = ({ data }: CsvPage) => data.map((object) => csvLine(columns, object)).join('');
    let page = first;
    let lines = linesOf({ ...first, data: first.data.slice(0, rowsMax) });
    let sent = first.data.length;
    yield headerLine(columns) + lines;
    while (page.nextCursor !== null) {
      const fitting = Math.ceil((page.data.length * pageLength) / Math.max(1, lines.length));
      const limit = Math.max(1, Math.min(pageRows, fitting));
      const next = { cursor: page.nextCursor, upTo: nextFile ?? undefined, limit, skip: 0 };
      const isPatient = performance.now() < patientUntilMs;
      const nextPage = await (isPatient ? openRequests.giveWay(() => read(next), signal) : read(next));
      // The abort has ended the response.
      if (nextPage === undefined) return;
      page = nextPage;
      sent += page.data.length;
      if (sent > rowsMax) throw new Error('too many objects began to match during the export');
      if (!(await endWithKey(reader))) throw keyEnded;
      lines = linesOf(page);
      yield lines;
    }
  }
}

/** An export whose first page has been read. */
interface StartedExport {
  readonly source: CsvSource;
  readonly first: CsvPage;
  readonly nextFile: string | null;
  readonly reader: OpenReader;
}

function onClose({ raw }: FastifyReply, work: () => void): void {
  if (raw.closed) work();
  else raw.once('close', work);
}

/** Aborts a response, so that it does not look complete. */
function breakOff(request: FastifyRequest, reply: FastifyReply, error: Error): void {
  if (!reply.raw.headersSent) return;
  request.log.warn({ requestId: request.id, err: error }, 'export ended early');
  // The framework would also log the error, but without the request id.
  reply.log = request.log.child({}, { level: 'silent' });
  // To a proxy that uses HTTP/1.0, a connection that is just closed looks like the end of the file.
  request.raw.socket.resetAndDestroy();
}

function tooManyExports(): Failure {
  return new Failure(
    'overloaded',
    'This process is sending the maximum number of exports. Retry later, or start another process.',
    { retryAfterSeconds },
  );
}
