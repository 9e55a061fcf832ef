import type { PlanValues } from '../processor/port/processor.ts';

export const currencies = ['eur', 'usd', 'jpy'] as const;
export type Currency = (typeof currencies)[number];

const group = 'workspace';
const features = {
  starter: { projects: 3, seats: 1, sso: false, support: 'community' },
  team: { projects: 20, seats: 10, sso: false, support: 'e-mail' },
  business: { projects: 200, seats: 100, sso: true, support: 'phone' },
} as const;

/** The plans of the demo shop, by a name that stories use. */
export const demoPlans = {
  'starter eur': {
    name: 'Starter',
    amount: 900,
    currency: 'eur',
    interval: 'month',
    group,
    features: features.starter,
  },
  'team eur': {
    name: 'Team',
    amount: 2_900,
    currency: 'eur',
    interval: 'month',
    group,
    features: features.team,
  },
  'business eur': {
    name: 'Business',
    amount: 9_900,
    currency: 'eur',
    interval: 'month',
    group,
    features: features.business,
  },
  'team yearly eur': {
    name: 'Team, yearly',
    amount: 29_000,
    currency: 'eur',
    interval: 'year',
    group,
    features: features.team,
  },
  'starter usd': {
    name: 'Starter (US)',
    amount: 1_000,
    currency: 'usd',
    interval: 'month',
    group,
    features: features.starter,
  },
  'team usd': {
    name: 'Team (US)',
    amount: 3_200,
    currency: 'usd',
    interval: 'month',
    group,
    features: features.team,
  },
  'business usd': {
    name: 'Business (US)',
    amount: 10_900,
    currency: 'usd',
    interval: 'month',
    group,
    features: features.business,
  },
  'team yearly usd': {
    name: 'Team, yearly (US)',
    amount: 32_000,
    currency: 'usd',
    interval: 'year',
    group,
    features: features.team,
  },
  'starter jpy': {
    name: 'Starter (Japan)',
    amount: 1_400,
    currency: 'jpy',
    interval: 'month',
    group,
    features: features.starter,
  },
  'team jpy': {
    name: 'Team (Japan)',
    amount: 4_500,
    currency: 'jpy',
    interval: 'month',
    group,
    features: features.team,
  },
  'early bird eur': {
    name: 'Early bird',
    amount: 500,
    currency: 'eur',
    interval: 'month',
    group,
    features: features.starter,
  },
  'backups eur': {
    name: 'Backups',
    amount: 400,
    currency: 'eur',
    interval: 'month',
    addOn: true,
    features: { backups: true },
  },
} as const satisfies Record<string, PlanValues>;

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

export const firstNames = [
  ...[
    'Ada',
    'Aiko',
    'Amara',
    'Anders',
    'Bruno',
    'Carla',
    'Chidi',
    'Dalia',
    'Dario',
    'Elif',
    'Emre',
    'Farah',
    'Finn',
  ],
  ...[
    'Grace',
    'Hana',
    'Hugo',
    'Ines',
    'Ivan',
    'Jonas',
    'Kaito',
    'Keiko',
    'Lea',
    'Liam',
    'Lucia',
    'Maja',
    'Marco',
  ],
  ...[
    'Mei',
    'Nadia',
    'Nils',
    'Noor',
    'Olga',
    'Omar',
    'Paula',
    'Pedro',
    'Priya',
    'Quentin',
    'Rosa',
    'Samir',
    'Sofia',
  ],
  ...['Tariq', 'Tessa', 'Uma', 'Viktor', 'Wanda', 'Yara', 'Yuki', 'Zoe'],
];

export const lastNames = [
  ...[
    'Abadi',
    'Andersen',
    'Bakker',
    'Bianchi',
    'Castro',
    'Costa',
    'Demir',
    'Dubois',
    'Eriksen',
    'Fischer',
    'Fujita',
  ],
  ...[
    'Garcia',
    'Haddad',
    'Hansen',
    'Ibrahim',
    'Ito',
    'Jansen',
    'Keller',
    'Kowalski',
    'Larsen',
    'Lopez',
    'Mancini',
  ],
  ...[
    'Meyer',
    'Moreau',
    'Nakamura',
    'Novak',
    'Okafor',
    'Olsen',
    'Patel',
    'Petrov',
    'Quist',
    'Rossi',
    'Sato',
    'Silva',
  ],
  ...['Tanaka', 'Ueda', 'Varga', 'Weber', 'Xu', 'Yilmaz', 'Zhang'],
];
