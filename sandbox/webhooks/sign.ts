import { createHmac } from 'node:crypto';

/** The signature header, over the exact bytes that are sent. The time is real time: receivers compare it to theirs. */
export function signatureHeader(payload: string, secret: string, realNowMs: number): string {
  const timestamp = Math.floor(realNowMs / 1_000);
  const signature = createHmac('sha256', secret).update(`${timestamp}.${payload}`).digest('hex');
  return `t=${timestamp},v1=${signature}`;
}
