import {
  describeAccount,
  describeDifference,
  isSameAccount,
  type ProcessorAccount,
} from '#processor/account/account.ts';
import {
  chooseEndpoint,
  type EndpointState,
  isSameUrl,
  webhookPath,
} from '#processor/endpoint/endpoint-state.ts';
import type { WebhookEndpoint } from '#processor/port/webhook-endpoint-calls.ts';
import { type Finding, Findings } from './finding.ts';

/** A synchronised clock differs by less. The processor's time is in whole seconds. */
const skewSecondsOk = 10;
/** Webhooks are refused from five minutes on, and a clock that is this far off drifts further. */
const skewSecondsMax = 120;

/** `movedSeconds`: how far the sandbox's clock was moved on purpose. */
export function judgeClock(skewMs: number | null, movedSeconds = 0): readonly Finding[] {
  const findings = new Findings('processor');
  if (movedSeconds !== 0) findings.ok(`The clock of the sandbox was moved by ${movedSeconds} seconds.`);
  const aheadSeconds = Math.round((skewMs ?? 0) / 1_000) + movedSeconds;
  const seconds = Math.abs(aheadSeconds);
  const fix = 'Synchronise the clock of this machine (NTP).';
  const text = `The clock is ${seconds} seconds ${aheadSeconds > 0 ? 'ahead of' : 'behind'} Stripe's.`;
  if (skewMs === null) findings.ok('Stripe does not send its time.');
  else if (seconds >= skewSecondsMax)
    findings.problem(`${text} Signatures of webhooks are refused at 300 seconds.`, fix);
  else if (seconds >= skewSecondsOk) findings.warning(text, fix);
  else findings.ok("The clock agrees with Stripe's.");
  return findings.all;
}

/** `remembered` is the account in the database. Undefined if there is none yet, or if the database cannot be read. */
export function judgeAccount(
  current: ProcessorAccount,
  remembered: ProcessorAccount | undefined,
): readonly Finding[] {
  const findings = new Findings('processor');
  if (remembered !== undefined && !isSameAccount(remembered, current)) {
    const [text = '', ...fix] = describeDifference(remembered, current).split('. ');
    findings.problem(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, fix.join('. '));
  } else if (current.id === null)
    findings.warning(
      'The Stripe key may not read its account: only the mode is compared.',
      'Give the restricted key the permission to read the account: see docs/processor-key.md.',
    );
  else findings.ok(`The Stripe key belongs to ${describeAccount(current)}.`);
  return findings.all;
}

/**
 * Both are times of a reset of the embedded sandbox: of the last one, and of the one that the rows followed. 0: never.
 */
export function judgeReset(lastResetMs: number, rowsAreOfMs: number): readonly Finding[] {
  const findings = new Findings('processor');
  if (lastResetMs !== rowsAreOfMs)
    findings.problem(
      'The embedded sandbox was reset without Till, so Till has rows of objects that are gone.',
      'Reset both with POST /api/v1/sandbox/reset. This deletes all rows.',
    );
  return findings.all;
}

/** The endpoints with the given address; without one, those with Till's path. */
export function endpointsOfTill(
  endpoints: readonly WebhookEndpoint[],
  url: string | undefined,
): readonly WebhookEndpoint[] {
  return endpoints.filter((endpoint) =>
    url === undefined ? URL.parse(endpoint.url)?.pathname === webhookPath : isSameUrl(endpoint.url, url),
  );
}

const setup = (url: string) => `Run "till webhooks setup --url ${url}".`;

export function judgeEndpoints(
  endpoints: readonly WebhookEndpoint[],
  url: string | undefined,
  stateOf: (endpoint: WebhookEndpoint) => EndpointState,
): readonly Finding[] {
  const findings = new Findings('webhooks');
  const found = endpointsOfTill(endpoints, url);
  const addresses = [...new Set(found.map((endpoint) => endpoint.url))];
  if (found.length === 0)
    findings.problem(
      `Stripe has no webhook endpoint for ${url ?? `a path ${webhookPath}`}.`,
      setup(url ?? `https://YOUR-HOST${webhookPath}`),
    );
  if (addresses.length > 1)
    findings.warning(
      `Stripe has webhook endpoints for several addresses: ${addresses.join(', ')}.`,
      'Run one Till per Stripe account. To check one of them, use --url.',
    );
  for (const address of addresses) {
    const { current, superseded, foreign } = chooseEndpoint(
      found.filter((endpoint) => endpoint.url === address),
    );
    if (current === undefined) continue;
    judgeEndpoint(current, stateOf(current), findings);
    const others = [...superseded, ...foreign].map(({ id }) => id);
    if (others.length > 0)
      findings.problem(
        `More endpoints have the address ${address}: ${others.join(', ')}. Till gets each event several times.`,
        foreign.length > 0 ? 'Delete them at Stripe.' : setup(address),
      );
  }
  return findings.all;
}

function judgeEndpoint({ url, apiVersion }: WebhookEndpoint, state: EndpointState, findings: Findings): void {
  const { isEnabled, missingEvents, otherEvents, version } = state;
  const before = findings.all.length;
  if (!isEnabled) findings.problem(`The endpoint ${url} is disabled.`, setup(url));
  if (missingEvents.length > 0)
    findings.problem(`The endpoint ${url} lacks the events ${missingEvents.join(', ')}.`, setup(url));
  if (otherEvents.length > 0)
    findings.warning(
      `The endpoint ${url} also sends events that Till stores but does not apply: ${otherEvents.join(', ')}.`,
      setup(url),
    );
  const replace = `Run "till webhooks setup --url ${url} --replace", and set the new secret.`;
  if (version === 'unpinned')
    findings.warning(
      `The endpoint ${url} has no API version of its own: events follow the default version of the account.`,
      replace,
    );
  if (version === 'unknown')
    findings.problem(
      `The endpoint ${url} has the API version ${apiVersion}, which this release does not know.`,
      replace,
    );
  if (findings.all.length === before)
    findings.ok(`The endpoint ${url} is enabled, with all events, and the API version ${apiVersion}.`);
}

interface Deliveries {
  /** Events of the last day that were not delivered. */
  readonly undelivered: number;
  readonly hasOtherEndpoints: boolean;
  /** When the newest event arrived. Null if there is none. Undefined if the database cannot be read. */
  readonly lastReceivedAt: Date | null | undefined;
}

/** The secret cannot be read back from the processor. If it is wrong, Till refuses every delivery. */
export function judgeDeliveries({
  undelivered,
  hasOtherEndpoints,
  lastReceivedAt,
}: Deliveries): readonly Finding[] {
  const findings = new Findings('webhooks');
  const count = undelivered >= 100 ? '100 or more' : String(undelivered);
  const fix =
    "Look at the responses in Stripe's log. 400: set PROCESSOR_WEBHOOK_SECRET to the secret of the endpoint. " +
    'No response: make the address reachable from the internet.';
  const text = `${count} events of the last day have not been delivered`;
  if (undelivered > 0 && hasOtherEndpoints)
    findings.warning(`${text}, to this endpoint or to another one of the account.`, fix);
  else if (undelivered > 0) findings.problem(`${text}.`, fix);
  else if (lastReceivedAt === null)
    findings.warning(
      'No event has been received yet, so the secret is not tested.',
      'Make any change at Stripe, such as a new customer, and run this command again.',
    );
  else if (lastReceivedAt === undefined) findings.ok('All events of the last day were delivered.');
  else
    findings.ok(
      `All events of the last day were delivered. The last one arrived at ${lastReceivedAt.toISOString()}.`,
    );
  return findings.all;
}
