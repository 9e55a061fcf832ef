import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { startTillProcess, type TillProcess } from '../../support/till-process.ts';

/** Before a delivery that was not acknowledged is sent again. The processor waits longer, but it has three days. */
const retryDelayMs = 50;
/** A minute in all: a start, or a restart of its database, takes seconds. */
const triesMax = 1_200;

/** Enough for the last error and its stack. */
const lastWordsLength = 4_000;

/** Till in a process of its own that can be killed at any time, and is started again each time. */
export class MortalTill {
  readonly #environment: Readonly<Record<string, string>>;
  #running: Promise<TillProcess>;
  #url = '';

  private constructor(environment: Readonly<Record<string, string>>) {
    this.#environment = environment;
    this.#running = this.#start();
  }

  static async start(environment: Readonly<Record<string, string>>): Promise<MortalTill> {
    const till = new MortalTill(environment);
    await till.isUp();
    return till;
  }

  get url(): string {
    return this.#url;
  }

  async pid(): Promise<number | undefined> {
    return (await this.#running).child.pid;
  }

  async isUp(): Promise<void> {
    await this.#running;
  }

  /** Fails, with its last words, if it died of something else than a kill of ours. */
  async assertAlive(): Promise<void> {
    const { child, output } = await this.#running;
    if (child.exitCode === null && child.signalCode === null) return;
    throw new Error(`till ended by itself, with ${child.exitCode}:\n${output().slice(-lastWordsLength)}`);
  }

  /** As the kernel does it when memory runs out; then it is started again. */
  kill(): void {
    this.#running = this.#running.then(async (till) => {
      await end(till);
      return this.#start();
    });
  }

  /** Ends it in order, as a deployment does, and starts it again; resolves with the status that it ended with. */
  async restart(): Promise<number | null> {
    const stopped = this.#running.then((till) => till.stop());
    this.#running = stopped.then(() => this.#start());
    await this.#running;
    return stopped;
  }

  /** Sends a signal that the process has a meaning for, and waits until it has logged that it came. */
  async signal(signal: NodeJS.Signals, message: string): Promise<void> {
    const till = await this.#running;
    till.child.kill(signal);
    await till.logged(message);
  }

  /** Kills it for good. */
  async end(): Promise<void> {
    await end(await this.#running);
  }

  /** Lets it end in order, together with all that it has started. */
  async stop(): Promise<void> {
    await (await this.#running).stop();
  }

  /** Posts as the processor does: until it is acknowledged, however often that fails. */
  async post(body: string, signature: string): Promise<void> {
    for (let tries = 1; tries <= triesMax; tries += 1) {
      await this.isUp();
      const status = await fetch(`${this.#url}/webhooks/processor`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      }).then(
        async (answer) => {
          await answer.text();
          return answer.status;
        },
        // It died meanwhile; what became of the delivery nobody knows.
        () => 0,
      );
      if (status === 200) return;
      if (status > 0 && status < 500) throw new Error(`a delivery was answered with ${status}`);
      await setTimeout(retryDelayMs);
    }
    throw new Error(`a delivery was not acknowledged in ${triesMax} tries`);
  }

  async #start(): Promise<TillProcess> {
    const till = await startTillProcess(this.#environment);
    this.#url = till.url;
    return till;
  }
}

async function end({ child }: TillProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
