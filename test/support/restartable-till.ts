import { setTimeout } from 'node:timers/promises';
import { type Client, createClient } from './client.ts';
import { startTill } from './till.ts';
import { quickCommand, type TillInChild } from './till-in-child.ts';

/** Before a delivery that was not acknowledged is sent again. The processor waits longer, but it has three days. */
const retryDelayMs = 50;
/** A minute in all. A start, or a restart of its database, takes seconds. */
const attemptsMax = 1_200;

/** Enough for the last error and its stack. */
const lastOutputLength = 4_000;

/** Till in a child process that a test can kill at any time. It is started again each time. */
export class RestartableTill {
  readonly #environment: Readonly<Record<string, string>>;
  #running: Promise<TillInChild>;
  #url = '';
  /** Its address changes with each start. */
  readonly client: Client;

  private constructor(environment: Readonly<Record<string, string>>) {
    this.#environment = environment;
    this.client = createClient(this);
    this.#running = this.#start();
  }

  static async start(environment: Readonly<Record<string, string>>): Promise<RestartableTill> {
    const till = new RestartableTill(environment);
    await till.isUp();
    return till;
  }

  get url(): string {
    return this.#url;
  }

  /** The one that runs now. */
  child(): Promise<TillInChild> {
    return this.#running;
  }

  async pid(): Promise<number | undefined> {
    return (await this.#running).child.pid;
  }

  async isUp(): Promise<void> {
    await this.#running;
  }

  /** Fails, with its last output, if it ended and the test did not kill it. */
  async assertAlive(): Promise<void> {
    const { child, output } = await this.#running;
    if (child.exitCode === null && child.signalCode === null) return;
    throw new Error(`till ended by itself, with ${child.exitCode}:\n${output().slice(-lastOutputLength)}`);
  }

  /** Kills it, as the kernel does when memory runs out, and starts it again. */
  kill(): void {
    this.#running = this.#running.then(async (till) => {
      await till.stop('SIGKILL');
      return this.#start();
    });
  }

  /** Stops it in an orderly way, as a deployment does, and starts it again. Resolves with its exit status. */
  async restart(): Promise<number | null> {
    const stopped = this.#running.then((till) => till.stop());
    this.#running = stopped.then(() => this.#start());
    await this.#running;
    return stopped;
  }

  /** Sends a signal, and waits until the process has logged this message. */
  async signal(signal: NodeJS.Signals, message: string): Promise<void> {
    const till = await this.#running;
    till.child.kill(signal);
    await till.logged(message);
  }

  /** Ends it for good. */
  async stop(signal?: NodeJS.Signals): Promise<void> {
    await (await this.#running).stop(signal);
  }

  /** Sends a webhook as the processor does: again and again, until it is acknowledged. */
  async deliver(body: string, signature: string): Promise<void> {
    for (let attempts = 1; attempts <= attemptsMax; attempts += 1) {
      await this.isUp();
      const status = await fetch(`${this.#url}/webhooks/processor`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      }).then(
        async (response) => {
          await response.text();
          return response.status;
        },
        // The process died. Whether it stored the event is unknown.
        () => 0,
      );
      if (status === 200) return;
      if (status > 0 && status < 500) throw new Error(`the response to a delivery was ${status}`);
      await setTimeout(retryDelayMs);
    }
    throw new Error(`a delivery was not acknowledged in ${attemptsMax} attempts`);
  }

  async #start(): Promise<TillInChild> {
    const till = await startTill({ in: 'child', environment: this.#environment, command: quickCommand });
    this.#url = till.url;
    return till;
  }
}
