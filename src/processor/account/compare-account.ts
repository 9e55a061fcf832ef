import type { Platform } from '#core/platform/platform.ts';
import type { Processor } from '../port/processor.ts';
import { describeDifference, isSameAccount } from './account.ts';
import { AccountStore } from './account-store.ts';

/**
 * Compares the account of the secret key with the account that the database belongs to. Stores it if none is stored,
 * unless `remembers` is false. Returns a description of the difference, or undefined if there is none. Throws if the
 * processor cannot be reached.
 */
export async function compareAccount(
  { database, logger }: Pick<Platform, 'database' | 'logger'>,
  processor: Pick<Processor, 'livemode' | 'readAccount'>,
  { remembers = true }: { readonly remembers?: boolean } = {},
): Promise<string | undefined> {
  const store = new AccountStore();
  const { livemode } = processor;
  const before = await store.read(database);
  // The secret key contains its mode, so another mode is detected even if the processor cannot be reached.
  if (before !== undefined && before.livemode !== livemode)
    return describeDifference(before, { id: null, livemode });
  const current = { id: await processor.readAccount(), livemode };
  if (current.id === null)
    logger.warn({ livemode }, 'processor account not readable; only the mode compared');
  if (remembers) await store.remember(database, current);
  // Read again, because another process may have stored it first.
  const remembered = (await store.read(database)) ?? current;
  return isSameAccount(remembered, current) ? undefined : describeDifference(remembered, current);
}
