/**
 * Steps of a purchase for tests with Playwright. They work with the sandbox's browser library, and with the real one in
 * test mode. The interfaces name only what the steps use of Playwright, so this file needs no package.
 */

interface PlaywrightLocator {
  first(): PlaywrightLocator;
  waitFor(): Promise<void>;
  count(): Promise<number>;
  isVisible(): Promise<boolean>;
  fill(value: string): Promise<void>;
  selectOption(value: string): Promise<unknown>;
  click(): Promise<void>;
}

interface PlaywrightFrameLocator {
  first(): PlaywrightFrameLocator;
  frameLocator(selector: string): PlaywrightFrameLocator;
  locator(selector: string): PlaywrightLocator;
}

/** A `Page` of Playwright. */
export interface PlaywrightPage {
  frameLocator(selector: string): PlaywrightFrameLocator;
  locator(selector: string): PlaywrightLocator;
}

/** A `Page` or a `BrowserContext` of Playwright. */
export interface PlaywrightRoutes<Route> {
  route(url: string, handler: (route: Route) => Promise<void>): Promise<unknown>;
}

interface PlaywrightRoute<Response> {
  request(): { url(): string };
  fetch(options: { url: string }): Promise<Response>;
  fulfill(options: { response: Response }): Promise<void>;
}

export interface Card {
  /** `4242424242424242`, unless given. */
  readonly number?: string;
  /** `12 / 34`, unless given. */
  readonly expiry?: string;
  /** `123`, unless given. */
  readonly cvc?: string;
  /** `12345`, unless given. Filled in if the form asks for it. */
  readonly postalCode?: string;
  /** A code of two letters. Chosen only if given. */
  readonly country?: string;
}

export type DeclineCode =
  | 'generic_decline'
  | 'insufficient_funds'
  | 'lost_card'
  | 'stolen_card'
  | 'card_velocity_exceeded'
  | 'fraudulent'
  | 'expired_card'
  | 'incorrect_cvc'
  | 'processing_error';

/** Loads the sandbox's browser library where the page asks for the real one, without a change of the application. */
export function useSandboxLibrary<Response>(
  page: PlaywrightRoutes<PlaywrightRoute<Response>>,
  sandboxUrl: string,
): Promise<void>;

/** Fills in a payment element, a card element, or the three elements of a card, whichever the page has. */
export function fillCard(page: PlaywrightPage, card?: Card): Promise<void>;

/** Fills in a test card that is declined with this code when it is charged. */
export function fillDeclinedCard(page: PlaywrightPage, declineCode?: DeclineCode): Promise<void>;

/** A card, and who pays with it. */
export interface CheckoutBuyer extends Card {
  /** `jenny@example.com`, unless given. Filled in if the page asks for it. */
  readonly email?: string;
  /** `Jenny Rosen`, unless given. */
  readonly name?: string;
}

/** Fills in a payment page of Checkout and sends it: the whole page, or the one that it shows in a frame. */
export function payCheckout(page: PlaywrightPage, buyer?: CheckoutBuyer): Promise<void>;

/** The same with a test card that is declined with this code. The payment page stays open. */
export function declineCheckout(page: PlaywrightPage, declineCode?: DeclineCode): Promise<void>;

/** Answers the cardholder's bank, in the frame above the page, in an embedded payment page, or on its own page. */
export function authenticate(page: PlaywrightPage, result?: 'complete' | 'fail'): Promise<void>;
