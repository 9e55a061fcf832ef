/** The places in a creation at which a process can die with different things done; tests end it at each of them. */
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
  | 'answer.before';

export interface CrashPoints {
  pass(crashPoint: CrashPoint): Promise<void> | void;
}

export const noCrashPoints: CrashPoints = { pass: () => {} };
