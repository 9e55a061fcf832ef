import { Waits } from '../wire/waits.ts';

export type Fault = FaultRule & {
  /** The id of the fault, by which it can be removed. */
  readonly id: string;
};

/** What a fault does, and to which requests. */
export type FaultRule = {
  readonly operation: string;
  /** How many more requests it affects. */
  readonly times: number;
} & (
  | { readonly kind: 'error'; readonly status: number; readonly code: string | undefined }
  | { readonly kind: 'latency'; readonly latencyMs: number }
  | { readonly kind: 'hang' }
  | { readonly kind: 'reset_before' }
  | { readonly kind: 'reset_after' }
);

/** The faults to inject. They apply in the order in which they were set. */
export class Faults {
  #faults: Fault[] = [];
  #count = 0;
  readonly #waits = new Waits();

  set(rule: FaultRule): void {
    this.#count += 1;
    this.#faults.push({ id: `fault_${this.#count}`, ...rule });
  }

  /** Removes one fault. Requests that it already delays keep waiting. Returns whether the fault existed. */
  remove(id: string): boolean {
    const before = this.#faults.length;
    this.#faults = this.#faults.filter((fault) => fault.id !== id);
    return this.#faults.length < before;
  }

  list(): readonly Fault[] {
    return this.#faults;
  }

  take(operation: string): Fault | undefined {
    if (this.#faults.length === 0) return undefined;
    const at = this.#faults.findIndex((fault) => fault.operation === operation || fault.operation === '*');
    const fault = this.#faults[at];
    if (fault === undefined) return undefined;
    this.#faults = this.#faults.toSpliced(
      at,
      1,
      ...(fault.times > 1 ? [{ ...fault, times: fault.times - 1 }] : []),
    );
    return fault;
  }

  /** Resolves when the faults are cleared or the caller disconnects. */
  async hang(gone: Promise<void>): Promise<void> {
    await this.#waits.wait(null, gone);
  }

  async wait(latencyMs: number, gone: Promise<void>): Promise<void> {
    await this.#waits.wait(latencyMs, gone);
  }

  clear(): void {
    this.#faults = [];
    this.#waits.release();
  }
}
