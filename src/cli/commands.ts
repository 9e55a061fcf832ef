import type { Command } from './command.ts';
import { adoptAccount } from './commands/adopt-account.ts';
import { checkUsage } from './commands/check-usage.ts';
import { doctor } from './commands/doctor.ts';
import { listEvents, replayEvent, showEvent } from './commands/events.ts';
import { importAccount } from './commands/import.ts';
import { createKey, listKeys, revokeKey } from './commands/keys.ts';
import { migrate } from './commands/migrate.ts';
import { resync } from './commands/resync.ts';
import { sandbox } from './commands/sandbox.ts';
import { seed } from './commands/seed.ts';
import { start } from './commands/start.ts';
import { setUpWebhooks } from './commands/webhooks.ts';

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  start,
  migrate,
  doctor,
  setUpWebhooks,
  createKey,
  listKeys,
  revokeKey,
  listEvents,
  showEvent,
  replayEvent,
  resync,
  checkUsage,
  importAccount,
  seed,
  adoptAccount,
  sandbox,
];
