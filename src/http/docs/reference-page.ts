import { type Html, html, markedText } from './html.ts';
import { fieldTable, type Schema, schemaTable } from './schema-table.ts';

interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value?: unknown; readonly $ref?: string }>>;
}

type Content = Readonly<Record<string, MediaType>>;

interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Content;
}

interface Reference {
  readonly $ref: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}

/** The parts of the OpenAPI document that the page shows. */
export interface ReferenceDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
}

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
}

/**
 * The reference as one page. The server sends it complete, so that the first operation shows at once and the page can
 * be read without scripts. The script only sends requests from the forms. `prefix` leads to the files of the page.
 */
export function referencePage(document: ReferenceDocument, prefix: string): string {
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method,
      path,
      operation,
      parameters: parametersOf(operation, document),
    })),
  );
  const groups = document.tags
    .map((tag) => ({
      ...tag,
      entries: entries.filter(({ operation }) => operation.tags?.includes(tag.name)),
    }))
    .filter((group) => group.entries.length > 0);
  const page = html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} API</title>
<link rel="stylesheet" href="${prefix}/static/reference.css">
<link rel="icon" href="${prefix}/static/icon.svg">
<script defer src="${prefix}/static/reference.js"></script>
</head>
<body>
<header>
<h1>${document.info.title} API <small>${document.info.version}</small></h1>
<p>${markedText(document.info.description)}</p>
<p><a href="${prefix}/openapi.json">OpenAPI as JSON</a> · <a href="${prefix}/yaml">as YAML</a></p>
<form id="access" autocomplete="off">
<label>API key for the requests of this page <input type="password" name="apiKey" autocomplete="off"></label>
</form>
</header>
<div class="columns">
<nav aria-label="Operations">
<label>Find an operation <input type="search" id="find"></label>
${groups.map(
  (group) => html`<section><h2><a href="#${anchor(group.name)}">${group.name}</a></h2>
<ul>
${group.entries.map(
  ({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>
`,
)}</ul></section>
`,
)}</nav>
<main>
${groups.map(
  (group) => html`<section aria-labelledby="${anchor(group.name)}">
<h2 id="${anchor(group.name)}">${group.name}</h2>
<p>${markedText(group.description)}</p>
${group.entries.map((entry) => operationSection(entry, document))}</section>
`,
)}<section aria-labelledby="schemas">
<h2 id="schemas">Objects</h2>
${Object.entries(document.components.schemas).map(
  ([name, schema]) => html`<details id="schema-${name}">
<summary><h3>${name}</h3></summary>
${schemaTable(schema, 'always')}</details>
`,
)}</section>
</main>
</div>
</body>
</html>
`;
  return page.text;
}

const anchor = (tag: string) => tag.replaceAll(' ', '-');

function parametersOf(
  { parameters = [] }: Operation,
  { components }: ReferenceDocument,
): readonly Parameter[] {
  return parameters.flatMap((given) =>
    'name' in given
      ? [given]
      : (components.parameters[given.$ref.replace('#/components/parameters/', '')] ?? []),
  );
}

function operationSection(entry: Entry, document: ReferenceDocument): Html {
  const { method, path, operation, parameters } = entry;
  const { operationId, summary, description, requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  return html`<details id="${operationId}" class="operation">
<summary><h3><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code> ${summary}</h3></summary>
${description === undefined ? undefined : html`<p>${markedText(description)}</p>`}
${
  parameters.length === 0
    ? undefined
    : html`<h4>Parameters</h4>
${fieldTable(
  parameters.map((parameter) => ({
    name: parameter.name,
    isRequired: parameter.required === true,
    schema:
      parameter.description === undefined
        ? parameter.schema
        : { ...parameter.schema, description: parameter.description },
  })),
  'required',
)}`
}${
  body === undefined
    ? undefined
    : html`<h4>Body</h4>
${schemaTable(resolved(body.schema ?? {}, document), 'required')}`
}<h4>Responses</h4>
<dl>
${Object.entries(responses).map(([status, response]) => responseEntry(status, response, document))}</dl>
${tryForm(entry, body)}</details>
`;
}

function resolved(schema: Schema, { components }: ReferenceDocument): Schema {
  if (schema.$ref === undefined) return schema;
  return components.schemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)] ?? schema;
}

function responseEntry(status: string, given: Response, { components }: ReferenceDocument): Html {
  const response =
    given.$ref === undefined
      ? given
      : (components.responses[given.$ref.replace('#/components/responses/', '')] ?? given);
  return html`<dt>${status}</dt>
<dd>${markedText(response.description ?? '')}
${Object.entries(response.content ?? {}).map(
  ([type, media]) => html`${schemaLink(media.schema)}<details><summary>Example (${type})</summary>
${examplesOf(media, components.examples).map(
  (value) => html`<pre tabindex="0">${value}</pre>
`,
)}</details>
`,
)}</dd>
`;
}

function schemaLink(schema: Schema | undefined): Html | undefined {
  const name = schema?.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? undefined : html` <a href="#schema-${name}">${name}</a>`;
}

function examplesOf(
  { example, examples = {} }: MediaType,
  known: ReferenceDocument['components']['examples'],
): readonly string[] {
  const values = Object.values(examples).map(({ value, $ref }) =>
    $ref === undefined ? value : known[$ref.replace('#/components/examples/', '')]?.value,
  );
  return (example === undefined ? values : [example, ...values]).map(exampleText);
}

const exampleText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** The form that sends a request with its values. The script adds the behaviour. */
function tryForm({ method, path, parameters }: Entry, body: MediaType | undefined): Html {
  return html`<form class="try" data-method="${method}" data-path="${path}" autocomplete="off">
<h4>Try it</h4>
${parameters.map(
  ({ name, in: place, required }) =>
    html`<label><span><code>${name}</code></span> <input name="${name}" data-in="${place}"${required ? html` required` : undefined}></label>
`,
)}${
  body === undefined
    ? undefined
    : html`<label><span>Body</span> <textarea name="body" rows="10" spellcheck="false">${exampleText(
        body.example ?? examplesOf(body, {})[0] ?? {},
      )}</textarea></label>
`
}<button type="submit">Send ${method.toUpperCase()}</button>
<output></output>
</form>
`;
}
