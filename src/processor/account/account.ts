/** The account that the secret key belongs to, and its mode. */
export interface ProcessorAccount {
  /** Null if the secret key may not read it. */
  readonly id: string | null;
  readonly livemode: boolean;
}

/** If an id is unknown, only the modes are compared. */
export function isSameAccount(a: ProcessorAccount, b: ProcessorAccount): boolean {
  return a.livemode === b.livemode && (a.id === null || b.id === null || a.id === b.id);
}

export function describeAccount({ id, livemode }: ProcessorAccount): string {
  return `${id ?? 'an unknown account'} in ${livemode ? 'live' : 'test'} mode`;
}

/** A message for the operator, who has to decide which account to use. */
export function describeDifference(remembered: ProcessorAccount, current: ProcessorAccount): string {
  return (
    `this database belongs to the processor account ${describeAccount(remembered)}, ` +
    `but the secret key belongs to ${describeAccount(current)}. ` +
    'Set PROCESSOR_SECRET_KEY to a key of the remembered account, use another database, ' +
    'or run "till adopt-account" to accept the new account on purpose.'
  );
}
