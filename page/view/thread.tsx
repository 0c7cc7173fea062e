import { part } from "../state/api.ts";
import { isAgentAtWork, isRunning, open, openState, threads } from "../state/model.ts";
import { showView, threadAddress } from "../state/route.ts";
import { titleOf } from "../state/thread-status.ts";
import { Safe } from "../text/safe.tsx";
import { Bar } from "./bar.tsx";
import { Icon } from "./icons.tsx";
import { Log } from "./log.tsx";
import { StopButton } from "./stop-button.tsx";

/** The selected thread: its title and its log. */
export function Thread() {
  const { value } = open;
  const { value: state } = openState;
  const parent = state?.parent === undefined ? undefined : parentOf(state.parent);
  return (
    <>
      <Bar
        title={
          <>
            {parent !== undefined && (
              <>
                <Safe in="a" class="link clip" href={threadAddress(parent.thread)} text={titleOf(parent)} />
                <span aria-hidden="true">›</span>
              </>
            )}
            <h1 class="clip">
              {value === undefined ? "New thread" : <Safe text={state === undefined ? value.thread : titleOf(state)} />}
            </h1>
            {state?.workDir !== undefined && <Safe in="span" class="clip" text={state.workDir} />}
          </>
        }
      >
        {isRunning.value && value !== undefined && (
          <StopButton path={`/api/threads/${part(value.thread)}/stop`}>
            <span>Stop{isAgentAtWork.value && <span class="wide"> agent</span>}</span>
          </StopButton>
        )}
        <button
          class="ib middle"
          aria-label="Show inspector"
          onClick={() => showView("inspector", ".inspector .narrow")}
        >
          <Icon name="side" />
        </button>
      </Bar>
      {value === undefined ? <Empty /> : <Log key={value.thread} thread={value} />}
    </>
  );
}

/** Returns the thread of the call that started this one, if the call is among that thread's newest. */
function parentOf(call: string) {
  return [...threads.value.values()].find(({ recent }) => recent.some((each) => each.call === call));
}

function Empty() {
  return (
    <div class="void">
      <h2>No calls yet</h2>
      <p>Type a prompt below, call a tool yourself, or run a call in a shell. It appears here while it runs.</p>
      <pre>{`handrail call bash '{"command":"date"}'`}</pre>
    </div>
  );
}
