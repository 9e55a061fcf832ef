import { type Html, html, markedText } from './html.ts';

/** What the schemas of the document use of JSON Schema. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: boolean | Schema;
}

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** The fields of an object, those of objects inside it too: `discount.code`, `addOns[].planId`. */
export function schemaTable(schema: Schema, requiredLabel: string): Html {
  const fields = fieldsOf(schema, '');
  if (fields.length === 0) return html`<p>${typeText(schema)}</p>`;
  return fieldTable(fields, requiredLabel);
}

export function fieldTable(fields: readonly Field[], requiredLabel: string): Html {
  const rows = fields.map(
    ({ name, schema, isRequired }) => html`<tr>
<th scope="row"><code>${name}</code>${isRequired ? html` <span class="mark">${requiredLabel}</span>` : undefined}</th>
<td><span class="type">${typeText(schema)}</span>${description(schema)}</td>
</tr>
`,
  );
  return html`<table><tbody>
${rows}</tbody></table>
`;
}

function fieldsOf(schema: Schema, prefix: string): readonly Field[] {
  const required = schema.required ?? [];
  return Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const name = prefix + key;
    const inner = property.items === undefined ? property : property.items;
    return [
      { name, schema: property, isRequired: required.includes(key) },
      ...fieldsOf(inner, property.items === undefined ? `${name}.` : `${name}[].`),
    ];
  });
}

function description(schema: Schema): Html {
  const limits = limitText(schema);
  return html`${schema.description === undefined ? undefined : html` ${markedText(schema.description)}`}${
    limits === '' ? undefined : html` <span class="limits">${limits}</span>`
  }`;
}

/** Such as "string or null (date-time)", "one of …", or a link to the object. */
function typeText(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.anyOf !== undefined) return html`${joined(schema.anyOf.map(typeText), ' or ')}`;
  if (schema.enum !== undefined) {
    const values = schema.enum.map((value) => html`<code>${String(value)}</code>`);
    return html`${joined(values, ', ')}`;
  }
  if (schema.items !== undefined) return html`list of ${typeText(schema.items)}`;
  const types = [schema.type ?? 'any'].flat().join(' or ');
  return schema.format === undefined ? html`${types}` : html`${types} (${schema.format})`;
}

function joined(parts: readonly Html[], separator: string): readonly (Html | string)[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));
}

function limitText(schema: Schema): string {
  const limits = [
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
    range(undefined, schema.maxProperties, ' entries'),
    schema.default === undefined ? undefined : `Default: ${JSON.stringify(schema.default)}.`,
  ];
  return limits.filter((limit) => limit !== undefined).join(' ');
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  if (least === undefined && most === undefined) return undefined;
  if (least === most) return `${least}${unit}.`;
  if (most === undefined) return `At least ${least}${unit}.`;
  return least === undefined ? `At most ${most}${unit}.` : `${least} to ${most}${unit}.`;
}
