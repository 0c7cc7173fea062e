/** A search result. */
export interface SearchHit {
  readonly title: string;
  readonly url: string;
  /** "" if there is none. */
  readonly snippet: string;
}
