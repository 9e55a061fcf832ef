import type { ResyncProgress } from '#operators/resync/resync.ts';
import type { Terminal } from './output.ts';

const width = 30;

/** One line per resource: a progress bar on a terminal, and only the final line elsewhere. */
export class ProgressBar {
  readonly #terminal: Terminal;
  #line: string | undefined;
  #resource: string | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(progress: ResyncProgress): void {
    this.showLine(progress.resource, renderProgress(progress));
  }

  /** Replaces the line of the resource. */
  showLine(resource: string, line: string): void {
    if (this.#resource !== undefined && this.#resource !== resource) this.end();
    this.#resource = resource;
    this.#line = line;
    if (this.#terminal.isTTY === true) this.#terminal.write(`\r\x1b[K${this.#line}`);
  }

  end(): void {
    if (this.#line === undefined) return;
    this.#terminal.write(this.#terminal.isTTY === true ? '\n' : `${this.#line}\n`);
    this.#line = undefined;
  }
}

function renderProgress({ resource, compared, expected, corrected }: ResyncProgress): string {
  const share = expected === 0 ? 1 : Math.min(compared / expected, 1);
  const filled = Math.round(share * width);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
  return `${resource.padEnd(13)}${bar} ${compared} of about ${expected} compared, ${corrected} corrected`;
}
