import { Failure, isDefiniteRefusal } from '#core/errors.ts';

/** A parameter for a list of items, or for a new item. Other parameters concern a value of one item. */
const isList = /^(?:.*items\]?|price|plan)$/;
/** An item of an invoice is not meant. */
const namesItems = /(?<!invoice |invoice_)(?:items?|plans?|prices?|elements)\b/i;
const namesLimit = /maximum|\bmax\b|at most|up to|(?:no|not have) more than|exceed|too many|limit/i;

/**
 * The failure to report if the processor refused the number of items of a subscription. It has no documented error code
 * for that, so the parameter and the message decide. Undefined for another refusal.
 */
export function tooManyItems(error: unknown): Failure | undefined {
  if (!isDefiniteRefusal(error)) return undefined;
  const { processorParam, processorCode = '' } = error.extras;
  if (processorParam !== undefined && !isList.test(processorParam)) return undefined;
  const text = `${processorCode.replaceAll('_', ' ')} ${error.message}`;
  if (!namesItems.test(text) || !namesLimit.test(text)) return undefined;
  return new Failure('too_many_items', `${error.message} Send fewer addOns.`, { effect: 'none' });
}
