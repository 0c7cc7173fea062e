import { RequestFailed, forget, get, isRemembered, post, remember } from "./api.ts";

/**
 * Begins the session of this browser with what its address names: the token, or the code of a pairing. Both leave the
 * address first. Does nothing without them. A browser that has a session keeps it. Rejects with `RequestFailed`.
 */
export async function signIn(): Promise<void> {
  const address = new URL(location.href);
  const token = address.searchParams.get("token");
  const code = /^#pair=([\w-]+)$/.exec(address.hash)?.[1];
  const credential = code ?? token;
  if (credential === null) return;
  address.searchParams.delete("token");
  if (code !== undefined) address.hash = "";
  history.replaceState(null, "", `${location.pathname}${address.search}${address.hash}`);
  if (code === undefined && (await hasSession())) return;
  const { secret } = await post<{ secret: string }>("/api/sessions", { name: await browserName() }, credential);
  remember(secret);
}

async function hasSession(): Promise<boolean> {
  if (!isRemembered()) return false;
  try {
    await get("/api/sessions");
    return true;
  } catch (error) {
    if (!(error instanceof RequestFailed) || error.status !== 401) throw error;
    forget();
    return false;
  }
}

/** What this browser calls itself to people: "Pixel 8", "Firefox on Linux". */
async function browserName(): Promise<string> {
  const { userAgent, userAgentData } = navigator as Navigator & {
    readonly userAgentData?: { getHighEntropyValues(hints: readonly string[]): Promise<{ readonly model?: string }> };
  };
  const model = (await userAgentData?.getHighEntropyValues(["model"]).catch(() => undefined))?.model ?? "";
  if (model !== "") return model.slice(0, 60);
  const first = (names: readonly string[]) => names.find((each) => userAgent.includes(each));
  const program = first(["Edg", "OPR", "Firefox", "Chrome", "Safari"]) ?? "A browser";
  const system = first(["Android", "iPhone", "iPad", "Windows", "Mac", "CrOS", "Linux"]);
  const called = { Edg: "Edge", OPR: "Opera" }[program] ?? program;
  return system === undefined ? called : `${called} on ${system}`;
}
