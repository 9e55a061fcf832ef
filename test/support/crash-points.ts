import type { CrashPoint } from '#engine/idempotency/claim.ts';
import { effort } from './effort.ts';

/** Every crash point there is: the compiler refuses a list that lacks one. */
const allCrashPoints: readonly string[] = Object.keys({
  'claim.before': true,
  'claim.prepared': true,
  'claim.after': true,
  'call.before': true,
  'call.after': true,
  'record.before': true,
  'record.row': true,
  'record.completed': true,
  'record.after': true,
  'response.before': true,
} satisfies Record<CrashPoint, true>);

/** For the crash walk. The short form leaves out those that leave nothing behind, or the same rows as a neighbour. */
export const walkedPoints = effort<readonly string[]>({
  short: ['call.before', 'call.after', 'record.completed'],
  long: allCrashPoints,
});

/** For tests beside the crash walks. The short form has those that leave the most different work behind. */
export const crashPoints = effort<readonly string[]>({
  short: ['claim.prepared', 'call.after', 'record.completed'],
  long: allCrashPoints,
});
