import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** What went wrong in a page. A test that provokes a problem says so before. */
export interface Problems {
  /** Accepts problems that match. At the end of the test there must have been at least one. */
  expect(pattern: RegExp): void;
  /** Fails if there was an unexpected problem, or none of an expected kind. */
  check(): void;
}

/**
 * Records errors and warnings of the console (which include violations of the policy and responses of 4xx and 5xx),
 * exceptions, requests without a response, and requests to any other host than these.
 */
export function watchProblems(page: Page, ...origins: readonly string[]): Problems {
  const found: string[] = [];
  const expected: RegExp[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    found.push(`${message.type()}: ${message.text()} ${message.location().url}`.trim());
  });
  page.on('pageerror', (error) => found.push(`exception: ${error.stack ?? error.message}`));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    // The page itself ends a request whose response it does not need any more.
    if (reason !== 'net::ERR_ABORTED') found.push(`no response: ${reason} ${request.url()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'blob:' && !origins.includes(url.origin)) found.push(`another host: ${url}`);
  });
  return {
    expect: (pattern) => void expected.push(pattern),
    check: () => {
      assert.deepEqual(
        found.filter((problem) => !expected.some((pattern) => pattern.test(problem))),
        [],
      );
      const unmet = expected.filter((pattern) => !found.some((problem) => pattern.test(problem)));
      assert.deepEqual(unmet, [], 'an expected problem did not occur');
    },
  };
}
