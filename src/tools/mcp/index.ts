/** The public names of `handrail/mcp-client`. */
export {
  type HttpServerSettings,
  type McpPrompt,
  type McpSource,
  type ProcessServerSettings,
  type ServerSettings,
  mcpServer,
} from "./source.ts";
export { type LoginOptions, login } from "./login.ts";
export { storedTokens } from "./oauth.ts";
export { type OAuthSettings, type TokenFile, tokenFile } from "./token-file.ts";
