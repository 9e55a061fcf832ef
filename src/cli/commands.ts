import type { Command } from './command.ts';
import { adoptAccount } from './commands/adopt-account.ts';
import { backup } from './commands/backup.ts';
import { listEvents, replayEvent, showEvent } from './commands/events.ts';
import { createKey, listKeys, revokeKey } from './commands/keys.ts';
import { migrate } from './commands/migrate.ts';
import { restore } from './commands/restore.ts';
import { resync } from './commands/resync.ts';
import { seed } from './commands/seed.ts';

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  migrate,
  createKey,
  listKeys,
  revokeKey,
  listEvents,
  showEvent,
  replayEvent,
  resync,
  backup,
  restore,
  seed,
  adoptAccount,
];
