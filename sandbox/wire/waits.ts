/** Requests that wait. Each has a timer of its own, so none waits for another. */
export class Waits {
  readonly #ends = new Set<() => void>();

  /** Resolves when the time is over, the caller disconnects, or all are released. Null waits without a limit. */
  async wait(limitMs: number | null, gone: Promise<void>): Promise<void> {
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const timer = limitMs === null ? undefined : setTimeout(end, limitMs);
    this.#ends.add(end);
    gone.then(end);
    await over;
    clearTimeout(timer);
    this.#ends.delete(end);
  }

  /** Ends the wait of every request. */
  release(): void {
    for (const end of this.#ends) end();
  }
}
