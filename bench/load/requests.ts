import { createRandom } from '#runtime/seed/random.ts';
import { eventRequest, eventRequests, localId } from './events.ts';
import type { Requests, UsageRequests } from './job.ts';

export const apiKey = 'bench-key-0123456789-0123456789';

/** All contestants read the same rows in the same random order. */
const seed = 1;

/** The requests as bytes, ready to send. */
export function makeRequests(requests: Requests, nowMs: number): Buffer[] {
  switch (requests.kind) {
    case 'events':
      return requests.take === undefined
        ? eventRequests(requests.series, nowMs)
        : sharedEvents(requests, nowMs);
    case 'reads': {
      const random = createRandom(seed);
      const { count, step } = requests.ids;
      const pick = () => localId(Math.floor(random() * count) * step);
      const { path, suffix = '' } = requests;
      return Array.from({ length: requests.count }, () => getRequest(`${path}/${pick()}${suffix}`));
    }
    case 'same': {
      const request = getRequest(requests.path);
      return Array.from({ length: requests.count }, () => request);
    }
    case 'creates': {
      const body = JSON.stringify({ customerId: requests.customerId, amount: 2_000, currency: 'eur' });
      const request = createRequest(body);
      return Array.from({ length: requests.count }, () => request);
    }
    case 'usage':
      return usageRequests(requests, nowMs);
  }
}

function usageRequests({ count, size, first, customers }: UsageRequests, nowMs: number): Buffer[] {
  const at = new Date(nowMs).toISOString();
  const event = (number: number) => ({
    id: `event-${number}`,
    customerId: localId(number % customers),
    meter: 'api_calls',
    quantity: 1,
    at,
  });
  return Array.from({ length: count }, (_, index) => {
    if (size === undefined)
      return createRequest(JSON.stringify(event(first + index)), '/api/v1/usage/consume');
    const events = Array.from({ length: size }, (_, place) => event(first + index * size + place));
    return createRequest(JSON.stringify({ events }), '/api/v1/usage');
  });
}

/** Each event goes to two targets: its own, by its number, and the next one. */
function sharedEvents(requests: Extract<Requests, { kind: 'events' }>, nowMs: number): Buffer[] {
  const { first, count, startSeconds } = requests.series;
  const { part, of } = requests.take ?? { part: 0, of: 1 };
  const targetsOf = (number: number) => [number % of, (number + 1) % of];
  return Array.from({ length: count }, (_, index) => first + index).flatMap((number) =>
    targetsOf(number)
      .filter((target) => target === part)
      .map(() => eventRequest(number, startSeconds, nowMs)),
  );
}

export function getRequest(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: bench\r\nx-api-key: ${apiKey}\r\n\r\n`);
}

export function createRequest(body: string, path = '/api/v1/payments'): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: bench',
    `x-api-key: ${apiKey}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
