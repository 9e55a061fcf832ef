import type { Database } from '../platform/postgres.ts';
import { SharedStatement } from '../platform/shared-statement.ts';
import type { Claim } from './claim.ts';
import type { ClaimStore, NewClaim, StoredClaim } from './claim-store.ts';

/** Nobody waits for the completion of a claim, so there is time to gather those of many. */
const gatherMs = 20;

/** Makes and completes the claims of concurrent requests together, where no transaction is needed for it. */
export class SharedClaims {
  readonly #inserting: SharedStatement<NewClaim, StoredClaim | undefined>;
  readonly #completing: SharedStatement<Claim, undefined>;

  constructor(database: Database, store: ClaimStore) {
    this.#inserting = new SharedStatement({
      run: async (claims) => {
        const inserted = await store.insert(database, claims);
        const byResource = new Map(inserted.map((claim) => [claim.resourceId, claim]));
        return claims.map(({ resourceId }) => byResource.get(resourceId));
      },
    });
    this.#completing = new SharedStatement({
      run: async (claims) => {
        await store.complete(database, claims);
        return claims.map(() => undefined);
      },
      gatherMs,
    });
  }

  /** Undefined if the key is taken. */
  insert(claim: NewClaim): Promise<StoredClaim | undefined> {
    return this.#inserting.add(claim);
  }

  complete(claim: Claim): Promise<undefined> {
    return this.#completing.add(claim);
  }
}
