import { Connection } from '../load/connection.ts';
import { createRequest } from '../load/requests.ts';
import type { Lab } from './lab.ts';
import type { ServerProcess } from './server-process.ts';

export interface Owner {
  readonly id: string;
  readonly processorCustomerId: string;
}

/** A customer to create payments for, at the service and at the processor. */
export async function createCustomer(till: ServerProcess): Promise<Owner> {
  const connection = await Connection.open(till.url);
  const request = createRequest(JSON.stringify({ email: 'bench@example.com' }), '/api/v1/customers');
  const { status, body } = await connection.send(request);
  connection.close();
  if (status !== 201) throw new Error(`the customer was not created: ${body}`);
  return JSON.parse(body);
}

/** Delays the processor's next responses to the creation of a payment. */
export async function slowDown(lab: Lab, latencyMs: number, times: number): Promise<void> {
  const fault = { operation: 'payment_intents.create', kind: 'latency', latencyMs, times };
  const response = await fetch(`${lab.sandboxUrl}/sandbox/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  });
  if (!response.ok) throw new Error(`the sandbox did not accept the delay: ${await response.text()}`);
}
