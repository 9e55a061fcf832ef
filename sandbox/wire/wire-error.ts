/** The processor's error body, as the official client reads it. */
export interface ErrorBody {
  readonly type: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  readonly message: string;
  readonly code?: string;
  readonly doc_url?: string;
  readonly request_log_url?: string;
  readonly param?: string;
  readonly decline_code?: string;
  readonly charge?: string;
  readonly payment_intent?: object;
  readonly payment_method?: object;
  readonly setup_intent?: object;
}

interface Consequences {
  /** The idempotency layer replays this response. Rejected parameters are not remembered: no work was started. */
  readonly remembered?: boolean;
  /** The changes stay although the caller gets an error: a declined card leaves a failed charge and its events. */
  readonly keepsChanges?: boolean;
  /** Further headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An expected error, in the processor's format. Any other error is a bug in the sandbox. */
export class WireError extends Error {
  override readonly name = 'WireError';
  readonly status: number;
  readonly body: ErrorBody;
  readonly remembered: boolean;
  readonly keepsChanges: boolean;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: ErrorBody, consequences: Consequences = {}) {
    super(body.message);
    this.status = status;
    this.body =
      body.code === undefined || undocumentedCodes.has(body.code)
        ? body
        : { ...body, doc_url: docUrlOf(body.code) };
    this.remembered = consequences.remembered ?? false;
    this.keepsChanges = consequences.keepsChanges ?? false;
    this.headers = consequences.headers ?? {};
  }
}

/** Codes that the processor sends but does not document, so they have no link. */
const undocumentedCodes: ReadonlySet<string> = new Set(['property_expansion_max_depth']);

/** The processor's documentation page of an error code. */
export function docUrlOf(code: string): string {
  return `https://stripe.com/docs/error-codes/${code.replaceAll('_', '-')}`;
}

/** A request that is invalid in any state of the objects. */
export function refusal(status: number, message: string, code?: string, param?: string): WireError {
  return new WireError(status, {
    type: 'invalid_request_error',
    message,
    ...(code !== undefined && { code }),
    ...(param !== undefined && { param }),
  });
}

export function badParam(message: string, param?: string, code?: string): WireError {
  return refusal(400, message, code, param);
}

export function missingParam(param: string, message = `Missing required param: ${param}.`): WireError {
  return badParam(message, param, 'parameter_missing');
}

/** Parameters that exclude each other. The error is about the first one. */
export function exclusiveParams(...params: readonly string[]): WireError {
  const names = params.toSorted().join(', ');
  return badParam(
    `You may only specify one of these parameters: ${names}.`,
    params[0],
    'parameters_exclusive',
  );
}

/** An unknown id. `param` is `id` for the object in the path, or the name of the parameter. */
export function missing(noun: string, id: string, param = 'id'): WireError {
  return refusal(param === 'id' ? 404 : 400, `No such ${noun}: '${id}'`, 'resource_missing', param);
}

/** A valid request that the object's current state does not allow. */
export function wrongState(message: string, code?: string, extra: Partial<ErrorBody> = {}): WireError {
  return new WireError(
    400,
    { type: 'invalid_request_error', message, ...(code !== undefined && { code }), ...extra },
    { remembered: true },
  );
}
