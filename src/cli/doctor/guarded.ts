import { withDeadline } from '#core/platform/deadline.ts';
import { type Finding, Findings } from './finding.ts';

/** Longer than the limits of the connections and calls in a check. */
export const checkTimeoutMs = 20_000;

/** A check that fails or takes too long is itself a problem. */
export async function guarded(
  check: Finding['check'],
  fix: string,
  work: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await withDeadline(work(), checkTimeoutMs, 'The check');
  } catch (error) {
    const findings = new Findings(check);
    findings.problem(`${reasonOf(error).replace(/(\. Retry later.*)?\.?$/s, '')}.`, fix);
    return findings.all;
  }
}

/** A failed connection to a name with several addresses is an AggregateError without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0)
    return reasonOf(error.errors[0]);
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}
