import { createHmac } from 'node:crypto';

/** The signature header for the exact bytes of the payload. Uses real time, because receivers check the age. */
export function signatureHeader(payload: string, secret: string, realNowMs: number): string {
  const timestamp = Math.floor(realNowMs / 1_000);
  const signature = createHmac('sha256', secret).update(`${timestamp}.${payload}`).digest('hex');
  return `t=${timestamp},v1=${signature}`;
}
