import type { Filter } from '../../parts/filters.tsx';

/** The statuses of disputes that need a response, as the filter of payments takes them. */
export const needsResponse = 'needs_response,warning_needs_response';

const texts: Readonly<Record<string, string>> = {
  [needsResponse]: 'Needs a response',
  'under_review,warning_under_review': 'Under review',
  won: 'Won',
  lost: 'Lost',
  warning_closed: 'Inquiry closed',
};

export const disputeFilter: Filter = {
  kind: 'choice',
  name: 'disputeStatus',
  label: 'Dispute',
  options: Object.keys(texts),
  textOf: (statuses) => texts[statuses] ?? '',
  otherwise: 'Any',
};
