import { lineToDatabase } from '../support/database-line.ts';
import type { Line } from '../support/line.ts';
import { type Lifetime, startWebhookTill, type WebhookTill } from './webhook-till.ts';

/** Till with a line to its database that can be cut, as a network or a failover does. */
export async function startOnLine(
  life: Lifetime,
): Promise<{ readonly till: WebhookTill; readonly line: Line }> {
  const opened = Promise.withResolvers<Line>();
  const till = await startWebhookTill(life, {
    reachDatabase: async (directUrl) => {
      const { line, url } = await lineToDatabase(directUrl);
      life.after(async () => line.close());
      opened.resolve(line);
      return { url };
    },
  });
  return { till, line: await opened.promise };
}
