/** The steps of a creation at which a crash leaves different work done. Tests kill the process at each of them. */
export type CrashPoint =
  | 'claim.before'
  | 'claim.prepared'
  | 'claim.after'
  | 'call.before'
  | 'call.after'
  | 'record.before'
  | 'record.row'
  | 'record.completed'
  | 'record.after'
  | 'response.before';

export interface CrashPoints {
  pass(crashPoint: CrashPoint): Promise<void> | void;
}

export const noCrashPoints: CrashPoints = { pass: () => {} };
