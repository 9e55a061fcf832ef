import { isTillError } from '@till/client';
import type { Failure } from './failure.ts';

const firstDelayMs = 1_000;
/** A view recovers within this time of the service. A service that is down gets few requests from each view. */
const delayMsMax = 5_000;
/** A rate limit ends after a minute. */
const askedMsMax = 60_000;

/** How loads of a view ended. */
export interface Outcome {
  readonly failure?: Failure | undefined;
  /** How many failed one after the other. */
  readonly failures: number;
}

/** The delay doubles up to a limit. A random half of it keeps views that failed together from returning together. */
export function retryDelayMs({ failure, failures }: Outcome, random: number): number {
  const error = failure?.error;
  const askedMs = isTillError(error) ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  const delayMs = Math.min(delayMsMax, firstDelayMs * 2 ** (failures - 1));
  return Math.max(Math.min(askedMs, askedMsMax), (delayMs * (1 + random)) / 2);
}
