import { Ajv } from 'ajv';
import formats from 'ajv-formats';

/** Marks the schema of a body that need not be sent at all; it tells the documentation, and validates nothing. */
export const optionalBody = 'x-optional';

/** The canonical form only: the library's own pattern would also let `urn:uuid:…` through. */
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Bodies are taken as they are: a number in quotes is a mistake. Query and path hold only text, so there it is
 * turned into the type that the schema asks for. Every mistake is reported, not just the first.
 */
const strict = createAjv(false);
const coercing = createAjv(true);

export function compileValidator(schema: object, httpPart: string | undefined) {
  return (httpPart === 'body' ? strict : coercing).compile(schema);
}

function createAjv(coerceTypes: boolean): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    coerceTypes,
    keywords: ['example', optionalBody],
  });
  formats.default(ajv, ['email', 'date-time']);
  ajv.addFormat('uuid', uuidPattern);
  return ajv;
}
