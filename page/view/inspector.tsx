import { hasTerminal, jobs } from "../state/model.ts";
import { showView } from "../state/route.ts";
import { Icon } from "./icons.tsx";
import { Lazy } from "./lazy.tsx";

const loadJobs = async () => (await import("./jobs.tsx")).Jobs;
const loadTerminal = async () => (await import("../terminal/terminal.tsx")).Terminal;

/** What runs alongside the thread: the jobs, and the terminal. */
export function Inspector() {
  const running = jobs.value.filter(({ ended }) => ended === undefined).length;
  return (
    <aside class="pane inspector" aria-label="Inspector">
      <div class="bar flex">
        <h2>Jobs</h2>
        {running > 0 && <small class="num">{running}</small>}
        <span class="sp" />
        <button class="ib narrow" aria-label="Close panel" onClick={() => showView("main", ".middle")}>
          <Icon name="close" />
        </button>
      </div>
      <div class="panel">
        <Lazy load={loadJobs} title="Jobs" />
      </div>
      {hasTerminal.value && <Lazy load={loadTerminal} title="Terminal" />}
    </aside>
  );
}
