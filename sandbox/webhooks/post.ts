import http from 'node:http';
import https from 'node:https';

/** About as long as the processor waits for a response. */
const timeoutMs = 20_000;

/** Idle connections of many worlds would use up the receiver's and the sandbox's sockets. */
const idleMs = 5_000;

/** Sends webhooks over keep-alive connections. Only a 2xx is a success. A redirect is a failure. */
export class Poster {
  readonly #agents: { readonly http: http.Agent; readonly https: https.Agent };

  constructor(socketsMax: number) {
    const options = { keepAlive: true, maxSockets: socketsMax, timeout: idleMs };
    this.#agents = { http: new http.Agent(options), https: new https.Agent(options) };
  }

  async post(
    url: string,
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const target = new URL(url);
    const isTls = target.protocol === 'https:';
    const bytes = Buffer.from(body);
    const request = (isTls ? https : http).request(target, {
      method: 'POST',
      agent: isTls ? this.#agents.https : this.#agents.http,
      headers: { ...headers, 'content-length': bytes.length },
      timeout: timeoutMs,
      signal,
    });
    return new Promise((resolve) => {
      request.on('response', (response) => {
        const status = response.statusCode ?? 0;
        response.on('error', () => resolve(false));
        response.on('end', () => resolve(status >= 200 && status < 300));
        response.resume();
      });
      request.on('timeout', () => request.destroy());
      request.on('error', () => resolve(false));
      request.on('close', () => resolve(false));
      request.end(bytes);
    });
  }

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }
}
