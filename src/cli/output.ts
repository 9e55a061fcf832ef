/** Standard error of a process, or a replacement in tests. */
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

interface OutputParts {
  readonly isJson: boolean;
  readonly stdout: Pick<Terminal, 'write'>;
  readonly stderr: Terminal;
}

/** Standard output is for results, standard error for progress, advice and warnings. */
export class Output {
  readonly isJson: boolean;
  /** For progress bars and logs. */
  readonly stderr: Terminal;
  readonly #stdout: Pick<Terminal, 'write'>;
  #exitCode = 0;

  constructor({ isJson, stdout, stderr }: OutputParts) {
    this.isJson = isJson;
    this.stderr = stderr;
    this.#stdout = stdout;
  }

  /** A result: a line of JSON, or the text. Without a text, it is printed only with `--json`. */
  result(value: object, text?: string): void {
    if (this.isJson) this.#stdout.write(`${JSON.stringify(value)}\n`);
    else if (text !== undefined) this.#stdout.write(`${text}\n`);
  }

  /** For people only: not printed with `--json`. */
  note(text: string): void {
    if (!this.isJson) this.stderr.write(`${text}\n`);
  }

  /** Also printed with `--json`. */
  warn(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  /** The exit code of a command that does not throw. */
  setExitCode(code: number): void {
    this.#exitCode = code;
  }

  get exitCode(): number {
    return this.#exitCode;
  }
}
