import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { IdParams } from '#http/docs/api-schema.ts';
import type { ControlRequest, SandboxControl } from './sandbox-control.ts';
import { deliveryModes, faultKinds } from './sandbox-modes.ts';
import {
  ClockSchema,
  ConfirmationSchema,
  clockResponse,
  confirmationResponse,
  DeliverySchema,
  FaultsSchema,
  faultsResponse,
  OperationsSchema,
  type SandboxCards,
  type SandboxClock,
  type SandboxConfirmation,
  type SandboxFaults,
  SandboxSchema,
  TestCardsSchema,
  testCardsResponse,
  toTime,
} from './sandbox-responses.ts';

/** A year: a test rarely needs more at once, and the sandbox finishes it well within the time limit of a request. */
const advanceSecondsMax = 366 * 86_400;
/** The sandbox's own limits. */
const timesMax = 1_000_000;
const latencyMsMax = 600_000;
/** The limits of the processor's ids and addresses. */
const idLengthMax = 255;
const urlLengthMax = 2_048;

const AdvanceBody = strict({ advanceSeconds: Type.Integer({ minimum: 0, maximum: advanceSecondsMax }) });
const DeliveryBody = strict({ mode: Type.Enum([...deliveryModes]) });
const FaultBody = strict({
  operation: Type.String({ minLength: 1, maxLength: idLengthMax }),
  kind: Type.Enum([...faultKinds]),
  times: Type.Optional(Type.Integer({ minimum: 1, maximum: timesMax })),
  status: Type.Optional(Type.Integer({ minimum: 400, maximum: 599 })),
  code: Type.Optional(Type.String({ minLength: 1, maxLength: idLengthMax })),
  latencyMs: Type.Optional(Type.Integer({ minimum: 0, maximum: latencyMsMax })),
});
const FaultParams = Type.Object({ id: Type.String({ pattern: '^fault_\\d+$' }) });
const ConfirmBody = strict({
  paymentMethodId: Type.String({ minLength: 1, maxLength: idLengthMax, pattern: '^[\\x21-\\x7e]+$' }),
  returnUrl: Type.Optional(Type.String({ maxLength: urlLengthMax, pattern: '^https?://[\\x21-\\x7e]+$' })),
});

const path = '/api/v1/sandbox';
const config = { scope: 'operate' } as const;

/** The payments whose customers the console plays. */
interface ReadPayments {
  read(id: string): Promise<{ readonly processorPaymentIntentId: string }>;
}

/**
 * The controls of the sandbox, for the console. They exist only while the sandbox is the processor, so the OpenAPI
 * document does not contain them.
 */
export function registerSandboxRoutes(
  fastify: FastifyInstance,
  sandbox: SandboxControl,
  payments: ReadPayments,
): void {
  registerTime(fastify, sandbox);
  registerDelivery(fastify, sandbox);
  registerFaults(fastify, sandbox);
  registerCards(fastify, sandbox, payments);
}

function registerTime(fastify: FastifyInstance, sandbox: SandboxControl): void {
  const app = typed(fastify);
  app.get(path, { config, schema: hidden(SandboxSchema) }, async () => {
    const { account, now, delivery } = await sandbox.request<{
      readonly account: string;
      readonly now: number;
      readonly delivery: (typeof deliveryModes)[number];
    }>({ method: 'GET', path: '' });
    return { url: sandbox.url, account, now: toTime(now), deliveryMode: delivery };
  });
  app.get(`${path}/clock`, { config, schema: hidden(ClockSchema) }, async () =>
    clockResponse(await sandbox.request<SandboxClock>({ method: 'GET', path: '/clock' })),
  );
  app.post(
    `${path}/clock`,
    { config, schema: { ...hidden(ClockSchema), body: AdvanceBody } },
    async ({ body }) =>
      clockResponse(await sandbox.request<SandboxClock>({ method: 'POST', path: '/clock', body })),
  );
}

function registerDelivery(fastify: FastifyInstance, sandbox: SandboxControl): void {
  const app = typed(fastify);
  const schema = hidden(DeliverySchema);
  const request = (call: ControlRequest) => sandbox.request<Static<typeof DeliverySchema>>(call);
  app.get(`${path}/delivery`, { config, schema }, () => request({ method: 'GET', path: '/delivery' }));
  app.post(`${path}/delivery`, { config, schema: { ...schema, body: DeliveryBody } }, ({ body }) =>
    request({ method: 'POST', path: '/delivery', body }),
  );
  app.post(`${path}/delivery/flush`, { config, schema }, () =>
    request({ method: 'POST', path: '/delivery/flush' }),
  );
}

function registerFaults(fastify: FastifyInstance, sandbox: SandboxControl): void {
  const app = typed(fastify);
  const schema = hidden(FaultsSchema);
  const request = async (call: ControlRequest) => faultsResponse(await sandbox.request<SandboxFaults>(call));
  app.get(`${path}/faults`, { config, schema }, () => request({ method: 'GET', path: '/faults' }));
  app.post(`${path}/faults`, { config, schema: { ...schema, body: FaultBody } }, ({ body }) =>
    request({ method: 'POST', path: '/faults', body }),
  );
  app.delete(`${path}/faults`, { config, schema }, () => request({ method: 'DELETE', path: '/faults' }));
  app.delete(`${path}/faults/:id`, { config, schema: { ...schema, params: FaultParams } }, ({ params }) =>
    request({ method: 'DELETE', path: `/faults/${params.id}` }),
  );
  app.get(`${path}/operations`, { config, schema: hidden(OperationsSchema) }, () =>
    sandbox.request<Static<typeof OperationsSchema>>({ method: 'GET', path: '/operations' }),
  );
}

function registerCards(fastify: FastifyInstance, sandbox: SandboxControl, payments: ReadPayments): void {
  const app = typed(fastify);
  app.get(`${path}/test-cards`, { config, schema: hidden(TestCardsSchema) }, async () =>
    testCardsResponse(await sandbox.request<SandboxCards>({ method: 'GET', path: '/test_cards' })),
  );
  app.post(
    `${path}/payments/:id/confirm`,
    { config, schema: { ...hidden(ConfirmationSchema), params: IdParams, body: ConfirmBody } },
    async ({ params, body: { paymentMethodId, returnUrl } }) => {
      const { processorPaymentIntentId: id } = await payments.read(params.id);
      const confirmed = await sandbox.pay<SandboxConfirmation>({
        method: 'POST',
        path: `/payment_intents/${encodeURIComponent(id)}/confirm`,
        body: { payment_method: paymentMethodId, return_url: returnUrl },
      });
      return confirmationResponse(confirmed);
    },
  );
}

/** The app with requests and responses typed by their schemas. */
function typed(app: FastifyInstance) {
  return app.withTypeProvider<TypeBoxTypeProvider>();
}

function strict<Properties extends Parameters<typeof Type.Object>[0]>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

function hidden<Schema extends TSchema>(schema: Schema) {
  return { hide: true, response: { 200: schema } };
}
