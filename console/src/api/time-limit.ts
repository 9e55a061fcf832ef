/** The server ends a request after 30 s. A little more, so that its answer arrives. */
export const requestTimeoutMs = 40_000;
