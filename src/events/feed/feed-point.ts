/** A position, and the history of the database in which it was read: see `till.history`. */
export interface FeedPoint {
  readonly position: number;
  readonly history: number;
}
