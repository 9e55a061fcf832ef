/**
 * The amount of an invoice that is left to pay, and the customer's balance afterwards. A negative balance is a credit,
 * which pays for the invoice first. A positive balance is a debt, which is added to the invoice. A negative total
 * becomes a credit.
 */
export function settledWith(
  total: number,
  balance: number,
): { readonly due: number; readonly ending: number } {
  const owed = total + balance;
  return { due: Math.max(0, owed), ending: Math.min(0, owed) };
}
