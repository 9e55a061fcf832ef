/** The part of the package that the tests use. It has no types of its own. */
declare module 'oidc-provider' {
  type Request = import('node:http').IncomingMessage;
  type Response = import('node:http').ServerResponse;

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: Request, response: Response) => void;
    interactionFinished(request: Request, response: Response, result: object): Promise<void>;
    readonly Grant: new (values: {
      readonly accountId: string;
      readonly clientId: string;
    }) => { addOIDCScope(scope: string): void; save(): Promise<string> };
  }
}
