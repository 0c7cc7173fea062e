/** A search result. */
export interface SearchHit {
  readonly title: string;
  readonly url: string;
  /** The snippet; "" if the result has none. */
  readonly snippet: string;
}
