const quote = 0x22;
const lineFeed = 0x0a;

/** Counts the rows of a CSV file while it arrives in pieces. A line end within quotes is part of a value. */
export class CsvRowCounter {
  #lines = 0;
  #isQuoted = false;
  #isAtLineEnd = false;

  add(bytes: Uint8Array): void {
    for (const byte of bytes)
      if (byte === quote) this.#isQuoted = !this.#isQuoted;
      else if (byte === lineFeed && !this.#isQuoted) this.#lines += 1;
    if (bytes.length > 0) this.#isAtLineEnd = bytes.at(-1) === lineFeed && !this.#isQuoted;
  }

  /** The complete rows so far, without the header. */
  get rows(): number {
    return Math.max(0, this.#lines - 1);
  }

  /** False within a row. A file ends with a line end. */
  get isAtRowEnd(): boolean {
    return this.#isAtLineEnd;
  }
}
