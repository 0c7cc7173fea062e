/** The public names of `handrail/mcp`. */
export { type HttpEndpoint, type HttpOptions, createHttpEndpoint } from "./http.ts";
export type { OfferedPrompt, OfferedResource, Offering, PromptMessage } from "../../tools/mcp/offering.ts";
export { type ServeStdioOptions, type StdioService, serveStdio } from "./serve.ts";
