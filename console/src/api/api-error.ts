/** The code of a success whose body could not be read. */
const unreadable = 'unreadable';

/** A response that is not a success or cannot be read, or no response at all (`status` 0). */
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
    const problem: Record<string, unknown> | null = await response.json().catch(() => null);
    const text = <Fallback>(name: string, fallback: Fallback) => {
      const value = problem?.[name];
      return typeof value === 'string' ? value : fallback;
    };
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

  /** For a key that cannot be one, as the server would answer it. */
  static invalidKey(): ApiError {
    return new ApiError({
      status: 401,
      code: 'unauthorized',
      title: 'Missing or invalid API key',
      detail: 'An API key has only letters, digits and punctuation of ASCII, and no spaces.',
      requestId: null,
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

  /** From a success whose body is not JSON, or ended early: the connection broke, or a proxy sent another page. */
  static unreadable({ status, headers }: Response): ApiError {
    return new ApiError({
      status,
      code: unreadable,
      title: 'Invalid response',
      detail: 'The response of Till could not be read. Check the connection and try again.',
      requestId: headers.get('x-request-id'),
    });
  }

  /**
   * Whether it is unknown if the request had an effect. Then only the same idempotency key may be used again: it cannot
   * act twice.
   */
  get isUnresolved(): boolean {
    const { status, code } = this;
    return (
      status === 0 || status >= 500 || status === 429 || code === unreadable || code.endsWith('_in_flight')
    );
  }
}

/** What to show for anything that was thrown. */
export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : ApiError.unreachable();
}
