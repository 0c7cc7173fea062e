import { messageOf } from "../../src/core/util/errors.ts";

/**
 * Returns a function that sends what waits, one request after another, until nothing waits.
 *
 * @param next takes the next of what waits and returns its request; `undefined` if nothing waits
 * @param onAnswer called after each request, with "" or why it failed
 */
export function inOrder(next: () => Promise<unknown> | undefined, onAnswer: (why: string) => void): () => void {
  let isSending = false;
  const send = async () => {
    if (isSending) return;
    isSending = true;
    for (let request = next(); request !== undefined; request = next()) {
      onAnswer(
        await request.then(
          () => "",
          (error: unknown) => messageOf(error),
        ),
      );
    }
    isSending = false;
  };
  return () => void send();
}
