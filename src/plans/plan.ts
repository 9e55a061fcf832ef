/** How often a plan bills. */
export const planIntervals = ['day', 'week', 'month', 'year'] as const;

export type PlanInterval = (typeof planIntervals)[number];
