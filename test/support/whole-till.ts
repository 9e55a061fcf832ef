import { EventEmitter, once } from 'node:events';
import { createLogger } from '#core/platform/logger.ts';
import type { TestSettings } from '#runtime/composition/compose.ts';
import { loadConfig } from '#runtime/composition/config.ts';
import { startTill } from '#runtime/composition/start-till.ts';
import type { WelcomeFacts } from '#runtime/composition/welcome.ts';
import { type Client, createClient } from './client.ts';
import type { LogLine } from './log-capture.ts';
import { projectFolder } from './till-in-child.ts';

export interface WholeTill extends Client {
  readonly url: string;
  /** What the service says about its parts. */
  readonly facts: WelcomeFacts;
  readonly lines: readonly LogLine[];
  /** Resolves with the first line of the log that has this message, since the start. */
  logged(message: string): Promise<LogLine>;
  stop(): Promise<unknown>;
}

/**
 * The service as its environment configures it, with its background work, in the test's process. For tests of the start
 * itself: a start that is refused rejects, and costs no process.
 */
export async function startWholeTill(
  environment: Readonly<Record<string, string>>,
  settings: TestSettings = {},
): Promise<WholeTill> {
  const lines: LogLine[] = [];
  const written = new EventEmitter();
  const logger = createLogger('info', {
    write: (text: string) => {
      lines.push(JSON.parse(text));
      written.emit('line');
    },
  });
  const config = loadConfig({ PORT: '0', SANDBOX_PORT: '0', ...environment }, projectFolder);
  const till = await startTill(config, logger, settings);
  return {
    ...createClient(till.facts),
    url: till.facts.url,
    facts: till.facts,
    lines,
    logged: async (message) => {
      for (;;) {
        const line = lines.find(({ msg }) => msg === message);
        if (line !== undefined) return line;
        await once(written, 'line');
      }
    },
    stop: till.stop,
  };
}
