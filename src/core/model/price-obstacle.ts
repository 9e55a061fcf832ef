/** Why a price cannot be a Till plan. */
export const priceObstacles = {
  one_time: 'The price is paid once, and a plan bills in intervals.',
  tiered: 'The price has tiers, and a plan has one amount.',
  metered: 'The price bills metered usage, and a plan has a fixed amount.',
  packaged: 'The price divides the quantity into packages, and a plan bills each unit.',
  custom_amount: 'The customer chooses the amount of the price, and a plan has a fixed one.',
  fraction: 'The price has a fraction of the smallest unit of its currency, and a plan has a whole amount.',
  interval: 'Plans do not support the interval of the price.',
} as const;

export type PriceObstacle = keyof typeof priceObstacles;
