/** A response that is not a success, or no response at all (`status` 0). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly requestId: string | null;
  /** Why a card was declined, in the processor's words. Null if the error is another one, or it does not say. */
  readonly declineCode: string | null;
  /** The other subscription that the error is about, if it names one. */
  readonly subscriptionId: string | null;

  constructor(values: {
    readonly status: number;
    readonly code: string;
    readonly title: string;
    readonly detail: string;
    readonly requestId: string | null;
    readonly declineCode?: string | null;
    readonly subscriptionId?: string | null;
  }) {
    super(values.detail);
    this.status = values.status;
    this.code = values.code;
    this.title = values.title;
    this.detail = values.detail;
    this.requestId = values.requestId;
    this.declineCode = values.declineCode ?? null;
    this.subscriptionId = values.subscriptionId ?? null;
  }

  /** From a response with a problem. A proxy in between may answer with anything. */
  static async of(response: Response): Promise<ApiError> {
    const problem: Record<string, unknown> = await response.json().catch(() => ({}));
    const text = <Fallback>(name: string, fallback: Fallback) =>
      typeof problem[name] === 'string' ? problem[name] : fallback;
    return new ApiError({
      status: response.status,
      code: text('code', 'unknown'),
      title: text('title', `Status ${response.status}`),
      detail: text('detail', 'The server gave no reason.'),
      requestId: response.headers.get('x-request-id'),
      declineCode: text('declineCode', null),
      subscriptionId: text('subscriptionId', null),
    });
  }

  static unreachable(): ApiError {
    return new ApiError({
      status: 0,
      code: 'unreachable',
      title: 'No connection',
      detail: 'Till could not be reached. Check the connection and try again.',
      requestId: null,
    });
  }

  /** For a text that no API key can be. */
  static unknownKey(): ApiError {
    return new ApiError({
      status: 401,
      code: 'unauthorized',
      title: 'Missing or invalid API key',
      detail: 'An API key has only letters, digits and signs of ASCII.',
      requestId: null,
    });
  }

  /**
   * Whether it is unknown if the request had an effect. Then only the same idempotency key may be used again: it cannot
   * act twice.
   */
  get isUnresolved(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 429 || this.code.endsWith('_in_flight');
  }
}

/** What to show for anything that was thrown. */
export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : ApiError.unreachable();
}
