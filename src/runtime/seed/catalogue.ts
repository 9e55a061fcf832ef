import type { PlanValues } from '#processor/port/processor.ts';

export type Currency = 'eur' | 'usd' | 'jpy';

const features = {
  starter: { projects: 3, seats: 1, sso: false, support: 'community' },
  team: { projects: 20, seats: 10, sso: false, support: 'e-mail' },
  business: { projects: 200, seats: 100, sso: true, support: 'phone' },
} as const;

/** The plans of the demo shop, by a name that stories use. */
export const demoPlans = {
  'starter eur': workspacePlan('Starter', 'starter', 900, 'eur'),
  'team eur': workspacePlan('Team', 'team', 2_900, 'eur'),
  'business eur': workspacePlan('Business', 'business', 9_900, 'eur'),
  'team yearly eur': workspacePlan('Team, yearly', 'team', 29_000, 'eur', 'year'),
  'starter usd': workspacePlan('Starter (US)', 'starter', 1_000, 'usd'),
  'team usd': workspacePlan('Team (US)', 'team', 3_200, 'usd'),
  'business usd': workspacePlan('Business (US)', 'business', 10_900, 'usd'),
  'team yearly usd': workspacePlan('Team, yearly (US)', 'team', 32_000, 'usd', 'year'),
  'starter jpy': workspacePlan('Starter (Japan)', 'starter', 1_400, 'jpy'),
  'team jpy': workspacePlan('Team (Japan)', 'team', 4_500, 'jpy'),
  'early bird eur': workspacePlan('Early bird', 'starter', 500, 'eur'),
  'backups eur': {
    name: 'Backups',
    amount: 400,
    currency: 'eur',
    interval: 'month',
    addOn: true,
    features: { backups: true },
  },
} as const satisfies Record<string, PlanValues>;

/** A plan of the demo shop's only group: a customer has one of them. */
function workspacePlan(
  name: string,
  tier: keyof typeof features,
  amount: number,
  currency: Currency,
  interval: 'month' | 'year' = 'month',
) {
  return { name, amount, currency, interval, group: 'workspace', features: features[tier] };
}

export type DemoPlan = keyof typeof demoPlans;

/** The plans that a customer may begin with, and how often. */
export const firstPlans: Readonly<Record<Currency, readonly (readonly [DemoPlan, number])[]>> = {
  eur: [
    ['starter eur', 4],
    ['team eur', 4],
    ['business eur', 1],
    ['team yearly eur', 1],
  ],
  usd: [
    ['starter usd', 4],
    ['team usd', 4],
    ['business usd', 1],
    ['team yearly usd', 1],
  ],
  jpy: [
    ['starter jpy', 1],
    ['team jpy', 1],
  ],
};

/** The upgrade of each plan. */
export const largerPlans: Readonly<Partial<Record<DemoPlan, DemoPlan>>> = {
  'starter eur': 'team eur',
  'team eur': 'business eur',
  'early bird eur': 'team eur',
  'starter usd': 'team usd',
  'team usd': 'business usd',
  'starter jpy': 'team jpy',
};

/** What customers buy once. */
export const products = [
  'Setup',
  'Onboarding call',
  'Data import',
  'Training',
  'Template pack',
  'Extra storage',
];

/** In the smallest unit of each currency. */
export const oneTimeAmounts: Readonly<Record<Currency, readonly number[]>> = {
  eur: [1_500, 2_900, 4_900, 9_900, 14_900, 24_900],
  usd: [1_900, 3_500, 5_900, 9_900, 15_900, 26_900],
  jpy: [2_000, 4_800, 7_800, 15_000, 22_000],
};

/** Test cards that are charged without the cardholder. */
export const goodCards: readonly (readonly [string, number])[] = [
  ['pm_card_visa', 6],
  ['pm_card_mastercard', 4],
  ['pm_card_visa_debit', 2],
  ['pm_card_amex', 1],
  ['pm_card_jcb', 1],
];

export const declinedCards = [
  'pm_card_visa_chargeDeclinedInsufficientFunds',
  'pm_card_visa_chargeDeclined',
  'pm_card_chargeDeclinedExpiredCard',
];

export const firstNames = words(`
  Ada Aiko Amara Anders Bruno Carla Chidi Dalia Dario Elif Emre Farah Finn Grace Hana Hugo Ines Ivan Jonas
  Kaito Keiko Lea Liam Lucia Maja Marco Mei Nadia Nils Noor Olga Omar Paula Pedro Priya Quentin Rosa Samir
  Sofia Tariq Tessa Uma Viktor Wanda Yara Yuki Zoe
`);

export const lastNames = words(`
  Abadi Andersen Bakker Bianchi Castro Costa Demir Dubois Eriksen Fischer Fujita Garcia Haddad Hansen
  Ibrahim Ito Jansen Keller Kowalski Larsen Lopez Mancini Meyer Moreau Nakamura Novak Okafor Olsen Patel
  Petrov Quist Rossi Sato Silva Tanaka Ueda Varga Weber Xu Yilmaz Zhang
`);

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
