import assert from 'node:assert/strict';
import { testKey } from '../support/client.ts';
import type { Documented, OpenapiDocument } from '../support/openapi-document.ts';
import { pathOf } from '../support/right-requests.ts';
import type { FuzzCaller } from './callers.ts';
import type { Coverage } from './coverage.ts';
import { describeExchange, judgeResponse, judgeStatus } from './judge-response.ts';
import type { FuzzRequest } from './operation-parts.ts';
import type { Prepared } from './recipes/recipe.ts';
import type { Tills } from './tills.ts';
import { createWireClient, type WireResponse } from './wire-client.ts';

/** Hostile ones can say who sends the request, or that another page than the console does. */
const isAboutCaller = /^(x-api-key|cookie|origin|content-type)$/;

interface SenderParts {
  readonly pair: Tills['pair'];
  readonly document: OpenapiDocument;
  readonly coverage: Coverage;
  /** Requests that are in progress at once. */
  readonly lanes: number;
}

/** Sends requests to two processes in turn, and checks and counts what they respond. */
export class Sender {
  readonly #parts: SenderParts;
  readonly #clients = new Map<string, ReturnType<typeof createWireClient>>();
  #sent = 0;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  close(): void {
    for (const { close } of this.#clients.values()) close();
  }

  /** Sends what fills in an operation. */
  async send(operation: Documented, request: Prepared): Promise<WireResponse> {
    const { document, coverage } = this.#parts;
    const text = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const headers = {
      'x-api-key': request.key ?? testKey,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    };
    const response = await this.#clientOf(request.to).send({
      method: operation.method,
      path: pathOf(operation, request),
      headers: Object.entries(headers),
      body: text === undefined ? null : Buffer.from(text),
      isChunked: false,
    });
    const { status } = response;
    document.assertDocumented(operation, {
      ...{ status, text: response.text },
      contentType: response.headers['content-type'] ?? null,
    });
    coverage.note(operation, status, response.text);
    return response;
  }

  /** Sends a request of a caller, who may do no more and no less than its scopes allow. */
  async sendAs(caller: FuzzCaller, request: FuzzRequest): Promise<void> {
    const { operation, method, path, body, isChunked } = request;
    const { isApi } = operation;
    // The sandbox is not embedded in the second, so that its reset deletes nothing.
    const to = operation.path.startsWith('/api/v1/sandbox') ? this.#parts.pair[1] : undefined;
    const hasOwnKey = request.headers.some(([name]) => name === 'x-api-key');
    const response = await this.#clientOf(to).send({
      ...{ method, isChunked, path: (isApi ? caller.prefix : '') + path },
      headers: hasOwnKey ? request.headers : [...caller.headers(), ...request.headers],
      body: typeof body === 'string' ? Buffer.from(body) : body,
    });
    this.#judge(caller, request, response);
  }

  #judge({ name, allowed }: FuzzCaller, request: FuzzRequest, response: WireResponse): void {
    const { operation, kind, isRouted, method } = request;
    const { status, text } = response;
    const what = `${name}: ${describeExchange(request, response)}`;
    judgeResponse(this.#parts.document, request, response, what);
    if (!isRouted || method === 'HEAD') return;
    this.#parts.coverage.note(operation, status, text);
    const isDisguised = kind === 'hostile' && request.headers.some(([header]) => isAboutCaller.test(header));
    if (!operation.isApi || isDisguised) return;
    // Refused before anybody asks who sends it.
    if (status === 400 && JSON.parse(text).code === 'malformed_request') return;
    if (allowed === null) assert.equal(status, 401, what);
    else if (allowed.some((scope) => scope === operation.scope)) {
      assert.ok(status !== 401 && status !== 403, what);
      judgeStatus(request, response, what);
    } else assert.equal(status, 403, what);
  }

  /** Each process gets every other request. */
  #clientOf(till?: { readonly url: string }) {
    const { pair, lanes } = this.#parts;
    this.#sent += 1;
    const { url } = till ?? pair[this.#sent % 2] ?? assert.fail();
    const client = this.#clients.get(url) ?? createWireClient(url, lanes);
    this.#clients.set(url, client);
    return client;
  }
}
