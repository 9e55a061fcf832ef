/** When the windows of a meter end: with the period of the subscription, or after a month. */
export const meterResets = ['period', 'month'] as const;

type MeterResets = (typeof meterResets)[number];

/** JSON with the key `__proto__` is refused, so no plan could limit such a meter. */
export const meterKeyPattern = '^(?!__proto__$)[a-z0-9_.-]{1,64}$';
export const meterKeyLengthMax = 64;

/** What is counted. The feature of a plan whose name is `key` is the limit. */
export interface Meter {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly resets: MeterResets;
  readonly active: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What counting needs to know about a meter. */
export type MeterTerms = Pick<Meter, 'id' | 'key' | 'resets' | 'active'>;
