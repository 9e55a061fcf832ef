import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * An append-only file of JSON lines. Lines that are appended during a write go out together in the next write, so a
 * hundred concurrent requests cost one write. The response to a request is sent only after `written()`, so a killed
 * process loses nothing that it acknowledged. A power failure may lose data, because the sandbox does not call fsync.
 * The first line creates the file. The file is closed after a while without writes, so that thousands of idle journals
 * do not hold open files.
 */
export class Journal {
  readonly #path: string;
  #file: FileHandle | null = null;
  #idleTimer: NodeJS.Timeout | null = null;
  #isRemoved = false;
  #waiting: string[] = [];
  #writing: Promise<void> | null = null;
  #appended = 0;
  #inFile = 0;
  #failure: Error | null = null;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Reads the existing lines. Drops an incomplete last line. */
  static async open(path: string, onLine: (line: unknown) => void): Promise<Journal> {
    await mkdir(dirname(path), { recursive: true });
    const goodBytes = await readLines(path, onLine);
    if (goodBytes !== null) await truncate(path, goodBytes);
    return new Journal(path);
  }

  append(line: unknown): void {
    if (this.#isRemoved) return;
    this.#waiting.push(JSON.stringify(line));
    this.#appended += 1;
  }

  /** Resolves once all lines appended so far are in the file. */
  async written(): Promise<void> {
    const target = this.#appended;
    while (this.#inFile < target) {
      this.#writing ??= this.#writeWaiting();
      await this.#writing;
    }
  }

  async #writeWaiting(): Promise<void> {
    // A failed write may leave half a line behind, and a reader could not parse the lines after it.
    if (this.#failure !== null) throw this.#failure;
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      this.#file ??= await open(this.#path, 'a');
      await this.#file.appendFile(`${batch.join('\n')}\n`);
      this.#inFile += batch.length;
      this.#closeWhenIdle();
    } catch (cause) {
      this.#failure = new Error(`failed to write ${this.#path}; restart the sandbox`, { cause });
      throw this.#failure;
    } finally {
      this.#writing = null;
    }
  }

  /**
   * Replaces the file atomically: after a crash there is either the old file or the new one. `lines` is called when no
   * other write is in progress. The new lines replace all lines that were appended before. Later lines follow them.
   */
  async rewrite(lines: () => Iterable<unknown>): Promise<void> {
    await this.written();
    while (this.#writing !== null) await this.#writing;
    const next = lines();
    this.#inFile += this.#waiting.length;
    this.#waiting = [];
    await this.#occupy(this.#replaceWith(next));
  }

  async #replaceWith(lines: Iterable<unknown>): Promise<void> {
    const next = `${this.#path}.next`;
    const file = await open(next, 'w');
    let batch: string[] = [];
    for (const line of lines) {
      batch.push(JSON.stringify(line));
      if (batch.length < rewriteBatchLines) continue;
      await file.appendFile(`${batch.join('\n')}\n`);
      batch = [];
    }
    if (batch.length > 0) await file.appendFile(`${batch.join('\n')}\n`);
    await file.sync();
    await file.close();
    await this.#closeFile();
    await rename(next, this.#path);
  }

  async close(): Promise<void> {
    try {
      await this.written();
    } finally {
      await this.#closeFile();
    }
  }

  /** Deletes the file. Later lines are dropped: a request may still be in progress. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    await this.close();
    await rm(this.#path, { force: true });
    await rm(`${this.#path}.next`, { force: true });
  }

  #closeWhenIdle(): void {
    if (this.#idleTimer !== null) this.#idleTimer.refresh();
    else this.#idleTimer = setTimeout(() => this.#closeIfIdle(), idleMs).unref();
  }

  #closeIfIdle(): void {
    if (this.#writing !== null || this.#waiting.length > 0) this.#closeWhenIdle();
    else this.#occupy(this.#closeFile());
  }

  /** Keeps lines waiting until the work on the file is done. */
  #occupy(work: Promise<void>): Promise<void> {
    this.#writing = work.finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #closeFile(): Promise<void> {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }
}

/** Requests of one test follow each other faster than this. */
const idleMs = 2_000;

/** A line has about two kilobytes, so a batch has about a megabyte. */
const rewriteBatchLines = 500;

/** Returns the length in bytes of the complete lines, or null if there is no file. */
async function readLines(path: string, onLine: (line: unknown) => void): Promise<number | null> {
  let rest = Buffer.alloc(0);
  let goodBytes = 0;
  let lineNumber = 0;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: readChunkBytes })) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let start = 0;
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, start)) {
        lineNumber += 1;
        onLine(parseLine(rest.subarray(start, end), path, lineNumber));
        goodBytes += end + 1 - start;
        start = end + 1;
      }
      rest = rest.subarray(start);
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  return goodBytes;
}

/** Large enough that few lines span two chunks. */
const readChunkBytes = 1_048_576;

function parseLine(line: Buffer, path: string, lineNumber: number): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch (cause) {
    throw new Error(
      `${path} is damaged at line ${lineNumber}; delete the file to start with an empty sandbox`,
      { cause },
    );
  }
}
