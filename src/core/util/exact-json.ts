/** A text of JSON, whole or cut off, or a number. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gis;

/**
 * Returns JSON in which each integer that a number would round is a text: `{"id":1917043659912705297}` becomes
 * `{"id":"1917043659912705297"}`. For every JSON that has ids of others in it: arguments, results, replies. A text fits
 * where text is wanted, and shows all digits to a model; where a number is wanted, `coerce` refuses it.
 */
export function withExactNumbers(json: string): string {
  if (!/\d{16}/.test(json)) return json;
  return json.replaceAll(TOKEN, (token) => (isRounded(token) ? `"${token}"` : token));
}

/**
 * Returns true for an integer, as JSON or JavaScript writes it, that a number does not hold exactly: beyond 2^53, with
 * 16 digits that count. (10000000000000000 is meant as it is.) https://www.rfc-editor.org/rfc/rfc8259#section-6
 */
export function isRounded(integer: string): boolean {
  return /^-?\d{16,}$/.test(integer) && !Number.isSafeInteger(Number(integer)) && /^-?\d{15,}[1-9]0*$/.test(integer);
}

/**
 * Returns the response with exact numbers in its JSON, line by line as it arrives.
 *
 * @param change is applied to each line in place of `withExactNumbers`
 */
export function withExactBody(response: Response, change = withExactNumbers): Response {
  const type = response.headers.get("content-type") ?? "";
  if (response.body === null || !/json|event-stream/i.test(type)) return response;
  let rest = "";
  const exact = new TransformStream<string, string>({
    transform(text, controller) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) controller.enqueue(`${change(line)}\n`);
    },
    flush: (controller) => controller.enqueue(change(rest)),
  });
  const body = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(exact)
    .pipeThrough(new TextEncoderStream());
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
