import { expect, test } from "vitest";
import { problemOf } from "../../src/agent/models/problem.ts";
import type { ProblemKind } from "../../src/agent/models/problem-table.ts";

const MODEL = { provider: "p", modelId: "m-1" };

/** The problem of a reply as the AI SDK reports it. A reply without a status is an error within a stream. */
function problem(status: number | undefined, body: unknown, headers: object = {}, hasPictures = false) {
  const responseBody = typeof body === "string" ? body : JSON.stringify(body);
  const error =
    status === undefined ? body : Object.assign(new Error("x"), { statusCode: status, responseBody, ...headers });
  return problemOf(error, MODEL, { hasPictures });
}

const openai = (code: string | null, message: string, type = "invalid_request_error") => ({
  error: { message, type, param: null, code },
});
const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message } });
const google = (code: number, status: string, message: string, details: readonly object[] = []) => ({
  error: { code, message, status, details },
});
const retryInfo = (retryDelay: string) => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });
const quota = (quotaId: string) => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: [{ quotaId }],
});
const EXHAUSTED = "You exceeded your current quota, please check your plan and billing details.";

/** Replies as providers send them. */
const REPLIES: readonly (readonly [who: string, kind: ProblemKind, status: number | undefined, body: unknown])[] = [
  [
    "OpenAI",
    "context-overflow",
    400,
    openai("context_length_exceeded", "This model's maximum context length is 128000 tokens."),
  ],
  [
    "Anthropic",
    "context-overflow",
    400,
    anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
  ],
  ["Anthropic, bytes", "context-overflow", 413, anthropic("request_too_large", "Request exceeds the maximum size")],
  [
    "Google",
    "context-overflow",
    400,
    google(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
  ],
  ["Bedrock", "context-overflow", 400, { message: "Input is too long for requested model." }],
  [
    "Groq",
    "context-overflow",
    400,
    openai("context_length_exceeded", "Please reduce the length of the messages or completion."),
  ],
  [
    "Groq, tokens per minute",
    "context-overflow",
    413,
    openai(
      "rate_limit_exceeded",
      "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 8000, please reduce your message size and try again.",
      "tokens",
    ),
  ],
  [
    "OpenAI, tokens per minute",
    "context-overflow",
    429,
    openai(
      "rate_limit_exceeded",
      "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.",
      "tokens",
    ),
  ],
  [
    "DashScope",
    "context-overflow",
    400,
    openai("invalid_parameter_error", "Range of input length should be [1, 129024]"),
  ],
  [
    "xAI",
    "context-overflow",
    400,
    {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
  ],
  ["Ollama", "context-overflow", 500, { error: "prompt too long; exceeded max context length by 1200 tokens" }],
  [
    "llama.cpp",
    "context-overflow",
    500,
    {
      error: {
        code: 500,
        type: "server_error",
        message: "the request exceeds the available context size, try increasing it",
      },
    },
  ],
  [
    "Kimi",
    "context-overflow",
    400,
    openai(null, "Your request exceeded model token limit: 131072 (requested: 140000)"),
  ],
  ["MiniMax", "context-overflow", 400, openai(null, "invalid params, context window exceeds limit (2013)")],
  [
    "Mistral",
    "context-overflow",
    400,
    {
      object: "error",
      message: "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      type: "invalid_request_prompt",
    },
  ],
  [
    "Hugging Face",
    "context-overflow",
    422,
    {
      error: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
      error_type: "validation",
    },
  ],
  [
    "Copilot",
    "context-overflow",
    400,
    openai("model_max_prompt_tokens_exceeded", "prompt token count of 150000 exceeds the limit of 128000"),
  ],
  [
    "OpenRouter, of its provider",
    "context-overflow",
    400,
    {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: { raw: '{"error":{"message":"Input length 300000 exceeds the maximum length 262144","code":400}}' },
      },
    },
  ],
  ["in a stream", "context-overflow", undefined, { type: "error", message: "context_length_exceeded" }],
  [
    "Google per minute",
    "rate-limited",
    429,
    google(429, "RESOURCE_EXHAUSTED", EXHAUSTED, [
      quota("GenerateRequestsPerMinutePerProjectPerModel"),
      retryInfo("17s"),
    ]),
  ],
  [
    "Google, in a list",
    "rate-limited",
    429,
    [google(429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later.")],
  ],
  [
    "Google per day",
    "quota",
    429,
    google(429, "RESOURCE_EXHAUSTED", EXHAUSTED, [quota("GenerateRequestsPerDayPerProjectPerModel"), retryInfo("17s")]),
  ],
  [
    "Google, none in the plan",
    "quota",
    429,
    google(429, "RESOURCE_EXHAUSTED", `${EXHAUSTED} Quota exceeded for metric: requests, limit: 0`),
  ],
  [
    "OpenAI",
    "rate-limited",
    429,
    openai(
      "rate_limit_exceeded",
      "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000. Please try again in 1.5s.",
      "tokens",
    ),
  ],
  [
    "Anthropic",
    "rate-limited",
    429,
    anthropic(
      "rate_limit_error",
      "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
    ),
  ],
  [
    "Bedrock",
    "rate-limited",
    429,
    { __type: "ThrottlingException", message: "Too many tokens, please wait before trying again." },
  ],
  ["OpenRouter, within a stream", "rate-limited", undefined, { code: 429, message: "Provider returned error" }],
  ["OpenAI", "quota", 429, openai("insufficient_quota", EXHAUSTED, "insufficient_quota")],
  [
    "Anthropic",
    "quota",
    400,
    anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
  ],
  ["DeepSeek", "quota", 402, openai("invalid_request_error", "Insufficient Balance", "unknown_error")],
  ["OpenAI", "overloaded", 409, openai(null, "Another request for this resource is in progress", "conflict")],
  ["Anthropic", "overloaded", 529, anthropic("overloaded_error", "Overloaded")],
  ["Google", "overloaded", 503, google(503, "UNAVAILABLE", "The model is overloaded.")],
  ["a gateway without words", "overloaded", 502, "<html>Bad Gateway</html>"],
  ["OpenAI", "wrong-key", 401, openai("invalid_api_key", "Incorrect API key provided: abcd.")],
  ["Google", "wrong-key", 400, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")],
  [
    "xAI",
    "wrong-key",
    400,
    { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***zz." },
  ],
  [
    "OpenAI",
    "unknown-model",
    404,
    openai("model_not_found", "The model `m-1` does not exist or you do not have access to it."),
  ],
  ["Anthropic", "unknown-model", 404, anthropic("not_found_error", "model: m-1")],
  [
    "OpenRouter",
    "unknown-model",
    400,
    { error: { message: "m-1 is not a valid model ID: model not found", code: 400 } },
  ],
  ["anyone", "refused", 400, openai(null, "Invalid schema for function 'x'")],
  ["a parameter for billing", "refused", 400, openai(null, "Unknown parameter: billing_address")],
];

test.each(REPLIES)("%s: a reply that means %s, with status %s", (_, kind, status, body) => {
  expect(problem(status, body)).toMatchObject({ kind });
});

/** Replies to a request with a picture. */
const PICTURES: readonly (readonly [who: string, status: number, body: unknown])[] = [
  [
    "Anthropic",
    400,
    anthropic("invalid_request_error", "messages.0.content.1.image.source.base64: Could not process image"),
  ],
  ["OpenAI", 400, openai("invalid_image_format", "You uploaded an unsupported file.")],
  ["Google", 400, google(400, "INVALID_ARGUMENT", "Unable to process input image. Please retry.")],
  ["OpenRouter", 404, { error: { message: "No endpoints found that support image input", code: 404 } }],
  ["DeepSeek", 400, openai(null, "Failed to deserialize: messages[1]: unknown variant `image_url`, expected `text`")],
  [
    "llama.cpp",
    500,
    { error: { code: 500, type: "server_error", message: "image input is not supported - hint: provide the mmproj" } },
  ],
  ["vLLM", 400, { object: "error", message: "At most 0 image(s) may be provided in one request.", code: 400 }],
  [
    "Groq",
    400,
    openai(
      null,
      "'messages.2' : for 'role:user' the following must be satisfied[('messages.2.content' : value must be a string)]",
    ),
  ],
];

test.each(PICTURES)("%s: a refused picture is known, and only in a request with pictures", (_, status, body) => {
  expect(problem(status, body, {}, true)).toMatchObject({ kind: "picture" });
  expect(problem(status, body, {}, false).kind).not.toBe("picture");
});

test.each([
  ["Retry-After in seconds", 3_000, "Slow down", { "retry-after": "3" }],
  ["retry-after-ms before others", 250, "Please try again in 9s", { "retry-after-ms": "250", "retry-after": "9" }],
  ["RetryInfo", 17_000, google(429, "RESOURCE_EXHAUSTED", EXHAUSTED, [retryInfo("17s")]), {}],
  ["words with a fraction", 1_500, openai("rate_limit_exceeded", "Please try again in 1.5s. Visit us."), {}],
  ["words with hours and minutes", 3_725_000, openai("rate_limit_exceeded", "Please try again in 1h2m5s."), {}],
  ["words with milliseconds", 350, openai("rate_limit_exceeded", "Please retry in 350ms"), {}],
  ["words of Azure", 12_000, openai("429", "Please retry after 12 seconds."), {}],
  ["nothing", undefined, openai("rate_limit_exceeded", "Slow down"), {}],
] as const)("how long to wait is read from %s", (_, ms, body, responseHeaders) => {
  expect(problem(429, body, { responseHeaders }).retryAfterMs).toBe(ms);
});

test.each([
  [401, "Incorrect API key provided: 7f3d9c1b2a4e5f60. You can find your key at https://platform.openai.com/account."],
  [401, "Incorrect API key provided: sk-proj-abcdefghijklmnop."],
  [400, "The token tok_4f8a9b1c2d3e is not known"],
])("a key in a reply with %s is masked: %s", (status, words) => {
  const { message } = problem(status, openai(null, words));
  expect(message).toContain("[key]");
  expect(message).not.toMatch(/7f3d9c1b|abcdefgh|4f8a9b1c/);
  expect(message).toContain(words.slice(0, 9)); // the rest of the sentence stays
});
