import { Failure } from '#core/errors.ts';

/** What customers do at the processor without Till: in their browser or at their bank. */
export class Shopper {
  readonly #sandboxUrl: string;
  readonly #secretKey: string;

  constructor(sandboxUrl: string, secretKey: string) {
    this.#sandboxUrl = sandboxUrl;
    this.#secretKey = secretKey;
  }

  /** Confirms a payment or the setup of a card. A declined card does not throw. */
  async confirm(clientSecret: string, card: string): Promise<void> {
    const [id = ''] = clientSecret.split('_secret_');
    const kind = id.startsWith('seti_') ? 'setup_intents' : 'payment_intents';
    const body = { payment_method: card, return_url: 'https://shop.example.com/done' };
    const { status, error } = await this.#post(`${kind}/${id}/confirm`, body);
    if (status !== declined && status !== 200) throw refused(status, error);
  }

  /** Replaces the card of a subscription. Returns the id of the new one. */
  async useCard(processorCustomerId: string, processorSubscriptionId: string, card: string): Promise<string> {
    const { id } = await this.#must(`payment_methods/${card}/attach`, { customer: processorCustomerId });
    const body = { default_payment_method: String(id) };
    await this.#must(`subscriptions/${processorSubscriptionId}`, body);
    return String(id);
  }

  async defend(processorDisputeId: string, evidence: string): Promise<void> {
    await this.#must(`disputes/${processorDisputeId}`, { 'evidence[uncategorized_text]': evidence });
  }

  async #must(
    path: string,
    body: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { status, error, ...response } = await this.#post(path, body);
    if (status !== 200) throw refused(status, error);
    return response;
  }

  async #post(path: string, body: Readonly<Record<string, string>>): Promise<SandboxReply> {
    const response = await fetch(`${this.#sandboxUrl}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#secretKey}` },
      body: new URLSearchParams(body),
    });
    return { ...Object(await response.json()), status: response.status };
  }
}

type SandboxReply = Readonly<Record<string, unknown>> & { readonly status: number };

const declined = 402;

function refused(status: number, error: unknown): Failure {
  return new Failure(
    'processor_rejected',
    `The sandbox responded with status ${status}. ${JSON.stringify(error)}`,
  );
}
