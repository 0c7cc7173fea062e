import type { Settings } from "../config/settings.ts";
import { browsersFolder, stateFolder } from "../config/state.ts";
import type { Notice } from "../contract/notice.ts";
import type { Io } from "./io.ts";

/**
 * Tells people something, wherever they are: by their own program (`notify`), and by a message to the browsers that
 * asked for it. The text must be masked. Never rejects; resolves after ten seconds at most.
 *
 * @param onFailure called with what failed, for people
 */
export async function notifyPeople(
  io: Io,
  notice: Notice,
  { notify, policy, tenant }: Pick<Settings, "notify" | "policy" | "tenant">,
  onFailure: (text: string) => void,
): Promise<void> {
  const [{ sendNotice }, { createPushSender }, { browserSessions }] = await Promise.all([
    import("../console/notify.ts"),
    import("../console/push.ts"),
    import("../console/browser-sessions.ts"),
  ]);
  const browsers = browserSessions(browsersFolder(stateFolder(io.env)));
  const push = createPushSender(stateFolder(io.env), browsers, policy.network, tenant);
  await sendNotice(notice, { program: notify, push, onFailure });
}
