/** How many calls a second the processor allows, as far as its documentation says. */
export interface DocumentedLimits {
  readonly inAll: number;
  readonly ofEndpoint: (endpoint: string) => number;
}

/** All calls of an account. An account can have a higher limit, which PROCESSOR_REQUESTS_PER_SECOND states. */
const perSecondLive = 100;
const perSecondTest = 25;
/** Calls of one endpoint, such as `POST /v1/customers`. */
const perSecondOfEndpoint = 25;
const perSecondOfSearch = 20;

export function documentedLimits(isLive: boolean): DocumentedLimits {
  return {
    inAll: isLive ? perSecondLive : perSecondTest,
    ofEndpoint: (endpoint) => (endpoint.endsWith('/search') ? perSecondOfSearch : perSecondOfEndpoint),
  };
}
