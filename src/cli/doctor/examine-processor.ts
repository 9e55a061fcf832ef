import { Failure } from '#core/errors.ts';
import type { SecretCounts } from '#engine/events/endpoints/secret-upkeep.ts';
import type { BackfillState } from '#engine/sync/backfill.ts';
import type { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import type { SandboxWorld } from '#operators/sandbox-control/sandbox-resets.ts';
import type { SandboxClock } from '#operators/sandbox-control/sandbox-responses.ts';
import type { ProcessorAccount } from '#processor/account/account.ts';
import { stateOf } from '#processor/endpoint/endpoint-state.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { Start } from '#runtime/composition/start.ts';
import { joinProcessor } from '../with-services.ts';
import { type Finding, Findings } from './finding.ts';
import { guarded } from './guarded.ts';
import {
  endpointsOfTill,
  judgeAccount,
  judgeClock,
  judgeDeliveries,
  judgeEndpoints,
  judgeReset,
} from './judge-processor.ts';

const dayMs = 86_400_000;
/** A younger delivery may still be in progress: the processor retries a failed one within minutes. */
const deliveryTimeMs = 300_000;

/** The state that the database has stored. */
export interface Remembered {
  readonly account: ProcessorAccount | undefined;
  /** When the newest webhook event came. Null if there is none. */
  readonly lastReceivedAt: Date | null;
  /** Undefined if they cannot be read. */
  readonly secrets: SecretCounts;
  readonly backfills: BackfillState;
  /** When the embedded sandbox was last reset before the rows were written. Null if that is not known. */
  readonly rowsAreOfMs: number | null;
}

interface Examination {
  readonly url: string | undefined;
  /** Undefined: the database cannot be read. */
  readonly remembered: Promise<Remembered | undefined>;
}

export async function examineProcessor(
  start: Start,
  { url, remembered }: Examination,
): Promise<readonly Finding[]> {
  if (start.config.processor.secretKey === undefined) return examineEmbedded(start, remembered);
  const fix = 'Check PROCESSOR_SECRET_KEY, PROCESSOR_API_BASE and the network.';
  const clockAndAccount = await guarded('processor', fix, () => examineKey(start, remembered));
  // One outage is one finding, not one for each call.
  if (clockAndAccount.every(({ state }) => state === 'problem')) return clockAndAccount;
  const webhooks = await guarded('webhooks', fix, () => examineWebhooks(start, url, remembered));
  return [...clockAndAccount, ...webhooks];
}

/** The embedded sandbox runs only inside the service, so this is not reported as a problem. */
async function examineEmbedded(
  start: Start,
  remembered: Examination['remembered'],
): Promise<readonly Finding[]> {
  const fix = 'Start the service, which contains the sandbox: "till start".';
  const findings = await guarded('processor', fix, () => examineKey(start, remembered));
  const webhooks = new Findings('webhooks');
  webhooks.ok('The embedded sandbox sends its events to the service itself.');
  const isDown = findings.length === 1;
  return isDown
    ? findings.map((finding) => ({ ...finding, state: 'warning' }))
    : [...findings, ...webhooks.all];
}

async function examineKey(start: Start, remembered: Examination['remembered']): Promise<readonly Finding[]> {
  const { processor, sandbox } = await joinProcessor(start);
  const clock = judgeClock(await readSkewMs(processor), await readMovedSeconds(sandbox));
  const current = { id: await processor.readAccount(), livemode: processor.livemode };
  const judged = [...clock, ...judgeAccount(current, (await remembered)?.account)];
  const rowsAreOfMs = (await remembered)?.rowsAreOfMs ?? null;
  // A sandbox that runs as its own program is not reset together with Till.
  if (start.config.processor.secretKey !== undefined || sandbox === undefined || rowsAreOfMs === null)
    return judged;
  const { lastResetMs } = await sandbox.request<SandboxWorld>({ method: 'GET', path: '' });
  return [...judged, ...judgeReset(lastResetMs, rowsAreOfMs)];
}

/** How much the local clock is ahead. The processor's time is rounded down to a second. */
async function readSkewMs(processor: Processor): Promise<number | null> {
  const sentAtMs = Date.now();
  const time = await processor.readTime();
  return time === null ? null : (sentAtMs + Date.now()) / 2 - (time.getTime() + 500);
}

/** How far the sandbox's clock was moved. Undefined if the processor is not the sandbox. */
async function readMovedSeconds(sandbox: SandboxControl | undefined): Promise<number | undefined> {
  try {
    return (await sandbox?.request<SandboxClock>({ method: 'GET', path: '/clock' }))?.offsetSeconds;
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return undefined;
    throw error;
  }
}

async function examineWebhooks(
  start: Start,
  url: string | undefined,
  remembered: Examination['remembered'],
): Promise<readonly Finding[]> {
  const { processor } = await joinProcessor(start);
  const { webhookEndpoints } = processor;
  const endpoints = await webhookEndpoints.list().catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'processor_misconfigured') return undefined;
    throw error;
  });
  if (endpoints === undefined) return forbidden();
  const nowMs = Date.now();
  const undelivered = await processor.events.countUndelivered({
    since: new Date(nowMs - dayMs),
    until: new Date(nowMs - deliveryTimeMs),
  });
  const own = endpointsOfTill(endpoints, url);
  const judged = judgeEndpoints(endpoints, url, (endpoint) => stateOf(endpoint, processor));
  if (own.length === 0) return judged;
  const hasOtherEndpoints = own.length < endpoints.length;
  const lastReceivedAt = (await remembered)?.lastReceivedAt;
  return [...judged, ...judgeDeliveries({ undelivered, hasOtherEndpoints, lastReceivedAt })];
}

function forbidden(): readonly Finding[] {
  const findings = new Findings('webhooks');
  findings.warning(
    'The Stripe key may not list webhook endpoints, so they are not checked.',
    'Give the restricted key the permission to read webhook endpoints, or run this command with another Stripe key.',
  );
  return findings.all;
}
