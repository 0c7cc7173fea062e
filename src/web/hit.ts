/** A result of a search. */
export interface SearchHit {
  readonly title: string;
  readonly url: string;
  /** "" where there is none. */
  readonly snippet: string;
}
