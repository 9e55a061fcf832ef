import type { Database } from '../platform/postgres.ts';
import { SharedStatement } from '../platform/shared-statement.ts';
import type { ClaimStore, NewClaim, StoredClaim } from './claim-store.ts';

/** Makes the claims of concurrent requests together, where no transaction is needed for it. */
export class SharedClaims {
  readonly #inserting: SharedStatement<NewClaim, StoredClaim | undefined>;

  constructor(database: Database, store: ClaimStore) {
    this.#inserting = new SharedStatement({
      run: async (claims) => {
        const inserted = await store.insert(database, claims);
        const byResource = new Map(inserted.map((claim) => [claim.resourceId, claim]));
        return claims.map(({ resourceId }) => byResource.get(resourceId));
      },
    });
  }

  /** Undefined if the key is taken. */
  insert(claim: NewClaim): Promise<StoredClaim | undefined> {
    return this.#inserting.add(claim);
  }
}
