/** The processor's error body, as the official client reads it. */
export interface ErrorBody {
  readonly type: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  readonly message: string;
  readonly code?: string;
  readonly param?: string;
  readonly decline_code?: string;
  readonly charge?: string;
  readonly payment_intent?: object;
  readonly payment_method?: object;
  readonly setup_intent?: object;
}

interface Consequences {
  /** An answer that the idempotency layer replays. Refused parameters are not: nothing was begun. */
  readonly remembered?: boolean;
  /** A declined card leaves a failed charge and its events behind, although the caller gets an error. */
  readonly keepsChanges?: boolean;
}

/** A refusal in the processor's own words. What is thrown and is not one of these is a bug in the sandbox. */
export class WireError extends Error {
  override readonly name = 'WireError';
  readonly status: number;
  readonly body: ErrorBody;
  readonly remembered: boolean;
  readonly keepsChanges: boolean;

  constructor(status: number, body: ErrorBody, consequences: Consequences = {}) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.remembered = consequences.remembered ?? false;
    this.keepsChanges = consequences.keepsChanges ?? false;
  }
}

/** A parameter that cannot be accepted, whatever state the objects are in. */
export function badParam(message: string, param?: string, code?: string): WireError {
  return new WireError(400, {
    type: 'invalid_request_error',
    message,
    ...(code === undefined ? {} : { code }),
    ...(param === undefined ? {} : { param }),
  });
}

/** An id that names nothing. `param` is `id` for the object in the path, and the parameter's name elsewhere. */
export function missing(noun: string, id: string, param = 'id'): WireError {
  return new WireError(param === 'id' ? 404 : 400, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${noun}: '${id}'`,
    param,
  });
}

/** A request that is well formed but that the object's state rules out. */
export function wrongState(message: string, code?: string, extra: Partial<ErrorBody> = {}): WireError {
  return new WireError(
    400,
    { type: 'invalid_request_error', message, ...(code === undefined ? {} : { code }), ...extra },
    { remembered: true },
  );
}
