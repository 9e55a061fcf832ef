import type { EventApplier } from '#engine/sync/event-applier.ts';
import type { Inbox } from '#engine/webhooks/inbox.ts';
import type { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { DemoClock } from './demo-clock.ts';
import type { Performer } from './performer.ts';
import type { Action } from './story.ts';

const day = 86_400;
const hour = 3_600;

/** Users look at the last weeks in detail. Earlier time can pass in larger steps. */
const recentDays = 45;
/** Actions within `together` happen at the same time. Till reads the sandbox's events every `eventsAfter`. */
const olderPace = { together: day, eventsAfter: 7 * day };
const recentPace = { together: 8 * hour, eventsAfter: day };

/** How many seconds the two clocks may differ: the duration of a call. */
const clockMargin = 2;

/** The time that customers need to enter a card. */
const cardEntry = 40;
/** A queue that is not empty after this many batches of events is an error. */
const batchesMax = 1_000;

interface YearParts {
  readonly services: { readonly inbox: Inbox; readonly eventApplier: EventApplier };
  readonly processor: Processor;
  readonly control: SandboxControl;
  readonly performer: Performer;
  readonly clock: DemoClock;
  readonly signal: AbortSignal;
  /** Called after each day with the fraction that is done. */
  readonly report: (done: number) => void;
}

/** Performs a story step by step, at the time of the sandbox. Till learns about it from the sandbox's events. */
export async function liveYear(
  parts: YearParts,
  story: readonly Action[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const rest = [...story];
  let readUntil = from;
  while (readUntil < to) {
    parts.signal.throwIfAborted();
    const pace = readUntil < to - recentDays * day ? olderPace : recentPace;
    const end = Math.min(readUntil + pace.eventsAfter, to);
    while (rest[0] !== undefined && rest[0].at < end) {
      const slotEnd = Math.min(rest[0].at + pace.together, end);
      const later = rest.findIndex(({ at }) => at >= slotEnd);
      await happen(parts, rest.splice(0, later === -1 ? rest.length : later));
    }
    await moveClock(parts, end);
    await takeEvents(parts, readUntil);
    readUntil = end;
    parts.report((end - from) / (to - from));
  }
  // The duration of these actions.
  await moveClock(parts, Math.floor(Date.now() / 1_000));
  await takeEvents(parts, readUntil);
}

/** The actions begin at the same time. What customers do a moment later also happens at the same time. */
async function happen(parts: YearParts, actions: readonly Action[]): Promise<void> {
  const at = actions[0]?.at ?? 0;
  await moveClock(parts, at);
  // Actions without a customer come first: a customer may need a plan.
  for (const action of actions) if (!('customer' in action)) await parts.performer.perform(action);
  const ofCustomers = actions.filter((action) => 'customer' in action);
  const byCustomer = Map.groupBy(ofCustomers, ({ customer }) => customer);
  const afterwards = await Promise.all(
    [...byCustomer.values()].map(async (own) => {
      const steps: (() => Promise<void>)[] = [];
      for (const action of own) {
        const step = await parts.performer.perform(action);
        if (step !== undefined) steps.push(step);
      }
      return steps;
    }),
  );
  if (afterwards.flat().length === 0) return;
  await moveClock(parts, at + cardEntry);
  await Promise.all(
    afterwards.map(async (steps) => {
      for (const step of steps) await step();
    }),
  );
}

/** Moves both clocks to a time. They also run by themselves, so a clock that is already past it stays. */
async function moveClock({ control, clock }: YearParts, to: number): Promise<void> {
  // The sandbox's clock shows whole seconds, and was set a moment earlier.
  if (clock.now().getTime() / 1_000 + clockMargin > to) return;
  await control.request({ method: 'POST', path: '/clock', body: { to } });
  clock.set(to);
}

/** Reads the events of the sandbox since a time, and applies them. */
async function takeEvents({ processor, services }: YearParts, since: number): Promise<void> {
  const { inbox, eventApplier } = services;
  const pages = processor.events.listSince(new Date(since * 1_000), [...processor.eventTypes]);
  const events = (await Array.fromAsync(pages)).flatMap((page) => page.events);
  await Promise.all(events.map((event) => inbox.receive(event)));
  for (let batches = 0; (await eventApplier.applyBatch()) > 0; batches += 1)
    if (batches > batchesMax) throw new Error('the queue of events does not empty');
}
