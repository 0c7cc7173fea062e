import { readdirSync } from "node:fs";
import * as module from "node:module";
import { expect, test } from "vitest";
import { quoteWord } from "../../src/core/util/quote.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { commandLine } from "./program.ts";

test("the built program caches its compiled code if Node supports it (22.1 and newer)", async () => {
  const line = await commandLine();
  const cache = temporaryFolder();
  const script = `XDG_CACHE_HOME=${quoteWord(cache)} NODE_DEBUG_NATIVE=COMPILE_CACHE handrail tools`;
  expect((await line.shell(script)).code).toBe(0);
  const kept = readdirSync(cache, { recursive: true });
  const { stderr } = await line.shell(script);
  const used = /cli-program\.js was accepted/.test(stderr);
  const can = "enableCompileCache" in module;
  expect({ kept: kept.length > 1, used }).toEqual({ kept: can, used: can });
});
