import { type Parser, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';

/** The processor's own limit: bank statements have no room for more. */
const lengthMax = 22;

/** A text for bank statements. The processor requires a letter and forbids these characters. */
export const statementDescriptor: Parser<string> = (node, path) => {
  const value = text(lengthMax)(node, path);
  if (/[<>\\'"*]/.test(value))
    throw badParam('The statement descriptor cannot contain the characters < > \\ \' " and *.', path);
  if (!/[A-Za-z]/.test(value))
    throw badParam('The statement descriptor must contain at least one Latin character.', path);
  return value;
};

/** The complete descriptor of a payment. Cards only have a suffix, and the sandbox has only cards. */
export const cardStatementDescriptor: Parser<never> = (_node, path) => {
  throw badParam(
    'The statement_descriptor parameter is not supported for the payment_method_type `card`. To continue supporting payment_method_type `card`, please pass in `statement_descriptor_suffix` or remove the `statement_descriptor` parameter altogether.',
    path,
  );
};
