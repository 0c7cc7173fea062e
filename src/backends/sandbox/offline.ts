import type { Env } from "../../contract/effect.ts";

/**
 * Where there is no network, trying again finds none: npm alone would do so for more than a minute before it says what is wrong (fetch-retries in
 * its config documentation; the others likewise).
 */
export const NO_RETRIES: Env = {
  npm_config_fetch_retries: "0",
  YARN_HTTP_RETRY: "0",
  PIP_RETRIES: "0",
  UV_HTTP_RETRIES: "0",
  CARGO_NET_RETRY: "0",
};
