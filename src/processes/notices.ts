import { DeadlineError, withDeadline } from '../platform/deadline.ts';
import type { Logger } from '../platform/logger.ts';
import type { Member } from './member.ts';
import type { Notice } from './messages.ts';

/** A busy process acts on it within milliseconds. One that hangs must not hold up the others. */
const noticeTimeoutMs = 1_000;

/** Tells all processes something, and waits until each of them acts on it. */
export class Notices<Facts> {
  readonly #members: () => readonly Member<Facts>[];
  readonly #logger: Logger;
  readonly #waiting = new Map<number, () => void>();
  #sent = 0;

  constructor(members: () => readonly Member<Facts>[], logger: Logger) {
    this.#members = members;
    this.#logger = logger;
  }

  async send(notice: Notice): Promise<void> {
    await Promise.all(this.#members().map((member) => this.#sendTo(member, notice)));
  }

  /** A process acts on a notice. */
  receive(id: number): void {
    this.#waiting.get(id)?.();
  }

  async #sendTo(member: Member<Facts>, notice: Notice): Promise<void> {
    this.#sent += 1;
    const id = this.#sent;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(id, resolve);
    member.send({ kind: 'notice', id, notice });
    const noticed = Promise.race([promise, member.ended]);
    try {
      await withDeadline(noticed, noticeTimeoutMs, `the notice to process ${member.number}`);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      this.#logger.warn({ err: error, process: member.number, notice: notice.kind }, 'notice not confirmed');
    } finally {
      this.#waiting.delete(id);
    }
  }
}
