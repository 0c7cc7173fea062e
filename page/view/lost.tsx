import { connectNow, connection, now } from "../state/model.ts";
import { exact } from "../text/times.ts";
import { Icon } from "./icons.tsx";

/** A strip at the top, shown while no events arrive. */
export function Lost() {
  const { value } = connection;
  if (value.how !== "lost") return null;
  const seconds = Math.max(0, Math.ceil((value.retryMs - now.value) / 1_000));
  return (
    <div class="lost flex" role="status">
      <Icon name="cut" class="wait" />
      <span class="sp">
        Disconnected since {exact(value.sinceMs).split(" at ").at(-1)}. Trying again in {seconds} s.
      </span>
      <button class="btn" onClick={connectNow}>
        Connect now
      </button>
    </div>
  );
}
