/** The cause of a failed request to a model. */
export type ProblemKind = keyof typeof KINDS;

/** For each kind, how often the request is repeated, and for people what happened and the next step. */
export const KINDS = {
  "rate-limited": [5, "{name} limits the rate of requests."],
  overloaded: [5, "{name} is overloaded or has an internal error."],
  "broke-off": [3, "The reply of {name} broke off."],
  unreachable: [1, "{name} cannot be reached{at}. Check the network, and whether the server runs."],
  "wrong-key": [0, "{name} does not accept the API key. Check the key, and that it may use this model."],
  "unknown-model": [0, '{name}: there is no model "{model}". Check its name in the provider\'s list of models.'],
  "context-overflow": [0, "The conversation is too long for {name}."],
  quota: [0, "{name}: the key has no quota or credit left. Check the plan and its billing, or use another model."],
  picture: [0, "{name} does not take a picture of the conversation."],
  refused: [0, "{name} refused the request."],
} as const satisfies { readonly [kind: string]: readonly [retries: number, sentence: string] };

/** A rule fits when each part that it has fits. A part of `""` is what is unknown. */
interface Rule {
  readonly kind: ProblemKind;
  /** The status of HTTP. */
  readonly status?: RegExp;
  /** The codes, types, reasons and details of the reply, as one text. */
  readonly code?: RegExp;
  readonly words?: RegExp;
  /** Whether the reply says when to ask again. */
  readonly waits?: true;
}

/** What providers write about a request that is too long, in the order of the replies in the test. */
const TOO_LONG = [
  "context.?(length|window|size)|n_ctx|max(imum)? (context|prompt|input)|sequence length|range of input length",
  "(input|prompt) (is |was )?too (long|large)|reduce the length|too many (input |prompt )?tokens|token (count|limit)",
  "exceed.{0,40}(tokens?|context|max length)|(tokens?|input|prompt).{0,40}(exceed|must be reduced)",
  "inputs\\W+(tokens|must have less)|(request|payload).{0,9} too large",
].join("|");

/** About pictures. Servers whose messages take only text complain about the content, and do not name the picture. */
const PICTURE = [
  "image|picture|\\bvision|multi-?modal|media.?type|mmproj|inline_?data",
  "content.{0,40}(must be|expected|valid) (a )?(str|text)|expected a string",
].join("|");

/**
 * The rules; the first that fits counts. Codes come before words, words before the status alone. Real replies for them
 * are in test/agent/problem.test.ts.
 */
export const RULES: readonly Rule[] = [
  // A request above the limit of tokens per minute is too large, however long it waits (OpenAI, Groq).
  { kind: "context-overflow", status: /^4(13|29)/, words: /request too large|reduce (the length|your message)/i },
  { kind: "quota", code: /insufficient_quota|billing_|perday|usage_limit_reached/i },
  { kind: "quota", status: /^429/, words: /\blimit: 0\b/ },
  { kind: "rate-limited", code: /rate_?limit|throttl|resource_exhausted|too_many_requests|retryinfo/i },
  { kind: "context-overflow", code: /context_(length|window)|exceed_context|max_prompt_tokens|request_too_large/i },
  { kind: "wrong-key", code: /invalid_api_key|authentication_error|api_key_invalid|permission_error|unauthenticated/i },
  { kind: "unknown-model", code: /model_not_(found|exist)|deploymentnotfound/i },
  { kind: "picture", code: /(^|[\s_"])(image|vision)/i },
  { kind: "rate-limited", status: /^429/, waits: true },
  { kind: "quota", status: /^4(02|03|29)/, words: /quota|billing|credit|insufficient|balance|payment/i },
  { kind: "quota", status: /^400/, words: /credit balance|insufficient (balance|credit|funds)/i },
  { kind: "rate-limited", status: /^429/ },
  {
    kind: "wrong-key",
    status: /^40[013]/,
    words: /(invalid|incorrect).{0,10}api.?key|api.?key.{0,9}(not valid|invalid|expired)/i,
  },
  { kind: "wrong-key", status: /^40[13]/ },
  { kind: "context-overflow", words: new RegExp(TOO_LONG, "i") },
  { kind: "picture", status: /^(40[04]|415|422|50[01])/, words: new RegExp(PICTURE, "i") },
  {
    kind: "unknown-model",
    status: /^400/,
    words: /model.{0,80}(not found|not exist|unknown|invalid|not supported|not a valid)/i,
  },
  { kind: "unknown-model", status: /^404/, words: /model/i },
  { kind: "context-overflow", status: /^413/ },
  { kind: "broke-off", status: /^4(08|25|99)/ },
  { kind: "overloaded", status: /^(409|5)/ },
  { kind: "refused", status: /^4/ },
  // Errors in the middle of a stream have no status.
  { kind: "rate-limited", words: /rate.?limit|too many requests|quota|resource.exhausted/i },
  { kind: "overloaded", words: /overloaded|unavailable|server.?error|internal.?(server)?.?error|capacity|api_error/i },
  { kind: "broke-off" },
];
