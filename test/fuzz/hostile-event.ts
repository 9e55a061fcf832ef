import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { placesIn, withPlace } from '../fixtures/damage.ts';
import { eventFixture, eventFixtureNames } from '../fixtures/event-fixture.ts';
import { fixtureAbout, type Subjects } from './event-subjects.ts';
import { hostileJson, hostileNumbers, hostileText } from './hostile-values.ts';

/** What is wrong with an event, apart from what it is about. */
export interface HostileEvent {
  readonly name: string;
  readonly place: readonly string[];
  /** The JSON text that stands at the place; null takes the place away. */
  readonly json: string | null;
  readonly bend: Bend;
}

type Bend = (typeof bends)[number];
const bends = ['none', 'truncated', 'twice', 'mark', 'padded', 'latin', 'deep', 'too deep'] as const;

/** Nesting that is still read, and one level more. The object of an event is three levels down. */
const depthMax = 100;
const objectDepth = 3;

/** Ids at the longest that there are, and past it. */
const ids = [254, 255, 256, 300].map((length) => `x_${'y'.repeat(length - 2)}`);
const words = [
  'succeeded',
  'paid',
  'canceled',
  'active',
  'eur',
  'EUR',
  'usd',
  'euro',
  'brand_new_status',
  ...ids,
];
const seconds = ['0', '-1', '1', '253402300799', '253402300800', '1767225660', '4102444800'];

const put: fc.Arbitrary<string | null> = fc.oneof(
  fc.constant(null),
  fc.constantFrom(
    'null',
    'true',
    'false',
    '[]',
    '{}',
    '[null]',
    '{"data":[]}',
    '{"id":"x"}',
    '0',
    '-1',
    '""',
  ),
  fc.constantFrom(...hostileNumbers, ...seconds),
  fc.constantFrom(...words).map((word) => JSON.stringify(word)),
  hostileText.map((text) => JSON.stringify(text)),
  hostileJson,
);

/** Each fixture, wrong at one place, and some of them bent besides. */
export const hostileEvents: fc.Arbitrary<HostileEvent> = fc
  .constantFrom(...eventFixtureNames)
  .chain((name) => {
    const places = placesIn(JSON.parse(eventFixture(name)));
    // What is read of an event is mostly in its object; the rest is changed too, but less often.
    const inObject = places.filter(([, second]) => second === 'object');
    return fc.record({
      name: fc.constant(name),
      place: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...inObject) },
        { weight: 1, arbitrary: fc.constantFrom(...places) },
      ),
      json: put,
      bend: fc.oneof(
        { weight: 9, arbitrary: fc.constant('none' as const) },
        { weight: 1, arbitrary: fc.constantFrom(...bends) },
      ),
    });
  });

/** The event as it is sent: about these subjects, with an id and a time of its own unless those are what is wrong. */
export function toBody(
  { name, place, json, bend }: HostileEvent,
  subjects: Subjects,
  createdSeconds: number,
): Buffer {
  const mark = `mark ${randomUUID()}`;
  const event = {
    ...JSON.parse(fixtureAbout(name, subjects)),
    id: `evt_${randomUUID().replaceAll('-', '')}`,
    created: createdSeconds,
  };
  const damaged = withPlace(event, place, json === null ? undefined : mark);
  const text = JSON.stringify(damaged).replace(JSON.stringify(mark), () => json ?? '');
  return bent(text, bend);
}

function bent(text: string, bend: Bend): Buffer {
  switch (bend) {
    case 'none':
      return Buffer.from(text);
    case 'truncated':
      return Buffer.from(text.slice(0, Math.trunc(text.length / 2)));
    case 'twice':
      return Buffer.from(text.replace('"object":{', '"object":{"id":"twice","amount":1,'));
    case 'mark':
      return Buffer.from(`\ufeff${text}`);
    case 'padded':
      return Buffer.from(`${' \n\t'.repeat(1_000)}${text}${'\r\n'.repeat(1_000)}`);
    case 'latin':
      return Buffer.from(text.replace('"object":{', '"object":{"description":"caf\u00e9",'), 'latin1');
    case 'deep':
      return Buffer.from(nested(text, depthMax - objectDepth));
    case 'too deep':
      return Buffer.from(nested(text, depthMax - objectDepth + 1));
  }
}

function nested(text: string, levels: number): string {
  return text.replace('"object":{', `"object":{"nested":${'['.repeat(levels)}${']'.repeat(levels)},`);
}
