/** Whose objects a key reaches: an account of the processor, in one of its two modes. */
export interface ProcessorAccount {
  /** Null where the key may not read it. */
  readonly id: string | null;
  readonly livemode: boolean;
}

/** An account whose id is not known is compared by its mode alone. */
export function isSameAccount(a: ProcessorAccount, b: ProcessorAccount): boolean {
  return a.livemode === b.livemode && (a.id === null || b.id === null || a.id === b.id);
}

export function describeAccount({ id, livemode }: ProcessorAccount): string {
  return `${id ?? 'an unknown account'} in ${livemode ? 'live' : 'test'} mode`;
}

/** For the operator, who has to choose. */
export function describeDifference(remembered: ProcessorAccount, present: ProcessorAccount): string {
  return (
    `this database belongs to the processor account ${describeAccount(remembered)}, ` +
    `but the processor key belongs to ${describeAccount(present)}. ` +
    'Set PROCESSOR_SECRET_KEY to a key of the remembered account, use another database, ' +
    'or run "npm run till -- adopt-account" to accept the new account on purpose.'
  );
}
