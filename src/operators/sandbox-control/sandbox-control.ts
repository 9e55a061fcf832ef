import { Failure } from '#core/errors.ts';

interface SandboxAddress {
  readonly url: string;
  /** Selects the world of the sandbox, as in calls to its API. */
  readonly secretKey: string;
  /** Shorter, for tests. */
  readonly timeoutMs?: number;
}

export interface ControlRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/sandbox/`. */
  readonly path: string;
  readonly body?: object;
}

/** Moving the clock by a year takes a few seconds with thousands of subscriptions. A request ends after 30 s. */
const callTimeoutMs = 25_000;

/** Only the sandbox sends this header, so that no other processor is mistaken for it. */
const markHeader = 'till-sandbox';

/** The control API of the sandbox, which replaces the dashboard of a real processor. */
export class SandboxControl {
  /** Where people open its pages. */
  readonly url: string;
  readonly #secretKey: string;
  readonly #timeoutMs: number;

  constructor({ url, secretKey, timeoutMs = callTimeoutMs }: SandboxAddress) {
    this.url = url;
    this.#secretKey = secretKey;
    this.#timeoutMs = timeoutMs;
  }

  /** Returns the body of the response. Tests of the routes verify that the sandbox's responses have this type. */
  async request<Body>(request: ControlRequest): Promise<Body> {
    const { status, body } = await this.#send(request);
    if (status === 200) return body as Body;
    const detail = messageIn(body);
    if (status === 400) throw new Failure('invalid_request', detail);
    if (status === 404) throw new Failure('not_found', detail);
    throw new Failure('processor_bad_answer', `The sandbox responded with status ${status}. ${detail}`);
  }

  /** The same, for calls to the sandbox as a processor. It refuses what a processor would refuse. */
  async pay<Body>(request: ControlRequest): Promise<Body> {
    const { status, body } = await this.#send(request);
    if (status === 200) return body as Body;
    throw new Failure('processor_rejected', messageIn(body));
  }

  async #send({ method, path, body }: ControlRequest): Promise<{ status: number; body: unknown }> {
    try {
      const response = await fetch(`${this.url}/sandbox${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.#secretKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      if (!response.headers.has(markHeader)) throw noSandbox();
      return { status: response.status, body: await response.json() };
    } catch (error) {
      if (error instanceof Failure) throw error;
      throw isTimeout(error) ? timedOut(error) : unavailable(error);
    }
  }
}

function messageIn(body: unknown): string {
  // Every refusal of the control API has this form.
  const { error } = body as { readonly error?: unknown };
  return typeof error === 'string' ? error : 'It gave no reason.';
}

function noSandbox(): Failure {
  return new Failure('not_found', 'The processor is not the sandbox, so it has no controls.');
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

function timedOut(cause: unknown): Failure {
  const detail =
    'The sandbox did not respond in time. It may still be working: read its state before you repeat this request.';
  return new Failure('processor_timeout', detail, { cause });
}

function unavailable(cause: unknown): Failure {
  return new Failure('processor_unavailable', 'The sandbox does not respond. Check that it is running.', {
    cause,
    retryAfterSeconds: 1,
  });
}
