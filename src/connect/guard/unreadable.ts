/** A call whose arguments cannot be read exactly as its client reads them. The message says what was expected. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}
