/** A caller that meets a 5xx tries again under the same key, as the documentation tells it to; faults last for seven calls. */
const triesMax = 10;
/** What a client may be refused for by what happened meanwhile. */
const refusals = [404, 409, 422];

export interface ApiClient {
  /** The answer, or undefined if it was refused for the state that things are in. */
  call<Answer>(method: string, path: string, body?: object): Promise<Answer | undefined>;
}

/** Till's API as a well-behaved client uses it. */
export function createApiClient(options: { readonly url: () => string; readonly apiKey: string }): ApiClient {
  const { url, apiKey } = options;
  return {
    async call<Answer>(method: string, path: string, body?: object) {
      for (let tries = 1; ; tries += 1) {
        const answer = await fetch(`${url()}/api/v1/${path}`, {
          method,
          headers: {
            'x-api-key': apiKey,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        // The service's own answers; what the model reads of them is checked by the API tests.
        if (answer.ok) return (text === '' ? {} : JSON.parse(text)) as Answer;
        if (refusals.includes(answer.status)) return undefined;
        if (answer.status < 500 || tries >= triesMax)
          throw new Error(`${method} ${path} was answered with ${answer.status}: ${text}`);
      }
    },
  };
}
