import { badParam } from '../wire/wire-error.ts';
import { addIntervals, type Interval } from './calendar.ts';

interface Duration {
  readonly interval: Interval;
  readonly count: number;
}

/** When a phase of a schedule starts and ends, as given in the request. */
export interface GivenDates {
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly duration: Duration | undefined;
  /** The length of a phase without an end or a duration: one period of its price. */
  readonly period: Duration;
}

interface PhaseDates {
  readonly start: number;
  readonly end: number;
}

/**
 * The dates of the phases, which follow each other without gaps. `started` is when the running phase started, which
 * cannot change. Past phases may be left out.
 */
export function phaseDates(given: readonly GivenDates[], started: number, now: number): PhaseDates[] {
  if (given[0]?.start === undefined)
    throw badParam(
      'The subscription schedule update is missing at least one phase with a `start_date` to anchor end dates to.',
      'phases[0][start_date]',
    );
  const dates: PhaseDates[] = [];
  for (const [index, phase] of given.entries()) {
    const at = `phases[${index}]`;
    if (phase.end !== undefined && phase.duration !== undefined)
      throw badParam('You may only specify one of these parameters: duration, end_date.', `${at}[duration]`);
    const start = phase.start ?? dates[index - 1]?.end ?? 0;
    const previous = dates[index - 1];
    if (previous !== undefined && previous.end !== start)
      throw badParam('A phase must start when the phase before it ends.', `${at}[start_date]`);
    const { interval, count } = phase.duration ?? phase.period;
    const next = phase.duration === undefined ? given[index + 1]?.start : undefined;
    const end = phase.end ?? next ?? addIntervals(start, interval, count);
    if (end <= start) throw badParam('The end of a phase must be after its start.', `${at}[end_date]`);
    dates.push({ start, end });
  }
  checkRunning(dates, started, now);
  return dates;
}

function checkRunning(dates: readonly PhaseDates[], started: number, now: number): void {
  const running = dates.findIndex(({ start }) => start === started);
  if (running < 0)
    throw badParam('You can not modify the start date of the current phase.', 'phases[0][start_date]');
  if ((dates[running]?.end ?? 0) < now)
    throw badParam('The current phase must end in the future.', `phases[${running}][end_date]`);
}

/** The phase that runs at a time: the last one that has started by then. */
export function phaseAt<P extends { readonly start_date: number; readonly end_date: number }>(
  phases: readonly P[],
  at: number,
): P | undefined {
  return phases.find(({ start_date: start, end_date: end }) => start <= at && at < end);
}
