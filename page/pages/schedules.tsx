import { useEffect } from "preact/hooks";
import type { Run } from "../../src/core/contract/schedule.ts";
import { useAction } from "../state/action.ts";
import { get, part, post } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { now } from "../state/model.ts";
import { threadAddress } from "../state/route.ts";
import { Safe, safeText } from "../text/safe.tsx";
import { clock } from "../text/times.ts";
import { ActionButton, Facts, Nothing, Problem } from "../view/row.tsx";
import { Waiting } from "../view/waiting.tsx";
import { Ago, When } from "../view/when.tsx";

interface Schedule {
  readonly id: string;
  readonly name: string;
  readonly target: string;
  readonly words: string;
  readonly command?: string;
  readonly prompt?: string;
  readonly paused?: string;
  readonly next: readonly number[];
}

interface SchedulesBody {
  readonly attended: boolean;
  readonly schedules: readonly Schedule[];
  readonly runs: readonly Run[];
}

/** How often the schedules are loaded again, in milliseconds. */
const LOOK_MS = 5_000;

const HOUR_MS = 3_600_000;
const HOURS = 24;

const NEEDS_PERSON: ReadonlySet<string> = new Set(["waiting", "failed", "denied", "interrupted"]);

/** Schedules: the outcomes that need a person, the next runs on a time line, the newest runs. */
export function Schedules() {
  const loaded = useLoaded((signal) => get<SchedulesBody>("/api/schedules", signal));
  useEffect(() => {
    const timer = setInterval(loaded.reload, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const { attended = true, schedules = [], runs = [] } = loaded.value.value ?? {};
  const urgent = runs.filter(({ state, startedMs }) => {
    return NEEDS_PERSON.has(state) && (state === "waiting" || startedMs > now.value - HOURS * HOUR_MS);
  });
  return (
    <div class="sheet schedules">
      <p class="lead">Work that starts by itself. Each run is judged again, and knows only its own approval.</p>
      <Waiting of={loaded} words="Loading schedules" />
      <Problem text={attended || schedules.length === 0 ? "" : "No process runs the schedules of this folder."} />
      {urgent.length > 0 && <Runs title="Needs you" runs={urgent} />}
      {schedules.some(({ next }) => next.length > 0) && <TimeLine schedules={schedules} />}
      {loaded.value.value !== undefined && schedules.length === 0 && (
        <Nothing title="No schedules">
          Ask an agent for one, or add it with <code>handrail cron add</code>.
        </Nothing>
      )}
      <ul class="rows">
        {schedules.map((schedule) => (
          <ScheduleRow key={schedule.id} schedule={schedule} onChanged={loaded.reload} />
        ))}
      </ul>
      {runs.length > 0 && <Runs title="Runs" runs={runs} />}
    </div>
  );
}

/** The next 24 hours, a line for each schedule. The times are also in each row, as text. */
function TimeLine({ schedules }: { readonly schedules: readonly Schedule[] }) {
  const first = now.value;
  const hours = Array.from({ length: HOURS / 6 }, (_, index) => first + index * 6 * HOUR_MS);
  return (
    <section>
      <h2 class="head">Next 24 hours</h2>
      <div class="timeline" aria-hidden="true">
        <div class="hours meta num">
          {hours.map((hour) => (
            <span key={hour}>{clock(hour)}</span>
          ))}
        </div>
        {schedules.map(({ id, name, next }) => (
          <div key={id} class="track" title={safeText(name)}>
            {next
              .filter((time) => time < first + HOURS * HOUR_MS)
              .map((time) => (
                <i
                  key={time}
                  title={`${safeText(name)}, ${clock(time)}`}
                  style={{ left: `${Math.max(0, (100 * (time - first)) / (HOURS * HOUR_MS))}%` }}
                />
              ))}
          </div>
        ))}
      </div>
    </section>
  );
}

function ScheduleRow({ schedule, onChanged }: { readonly schedule: Schedule; readonly onChanged: () => void }) {
  const { id, name, target, words, command, prompt = "", paused, next } = schedule;
  const action = useAction();
  const button = (change: "run" | "pause" | "resume" | "remove", label: string) => (
    <ActionButton
      {...{ action, label, on: name }}
      work={() => post(`/api/schedules/${part(id)}`, { action: change }).then(onChanged)}
    />
  );
  const [first] = next;
  const soon =
    first === undefined
      ? []
      : [
          <>
            next <When ms={first} text={clock(first)} />
          </>,
        ];
  return (
    <li class="row">
      <div class="what">
        <Safe in="b" text={name} />
        <Safe in="code" class="free" text={command ?? `Agent: ${prompt}`} />
        <Facts of={[<Safe text={words} />, ...soon, <Safe text={target} />]} />
        {paused !== undefined && (
          <p class="problem">
            Paused: <Safe text={paused} />
          </p>
        )}
        <Problem text={action.failure.value} />
      </div>
      {button("run", "Run now")}
      {paused === undefined ? button("pause", "Pause") : button("resume", "Resume")}
      {button("remove", "Remove")}
    </li>
  );
}

function Runs({ title, runs }: { readonly title: string; readonly runs: readonly Run[] }) {
  return (
    <section>
      <h2 class="head">{title}</h2>
      <ul class="rows">
        {runs.map(({ id, name, state, startedMs, thread, note = "" }) => (
          <li key={id} class="row" data-run={state}>
            <div class="what">
              <p class="facts-line">
                <b class="state">{state === "waiting" ? "waits for a person" : state}</b>
                {thread === undefined ? <Safe text={name} /> : <Safe in="a" href={threadAddress(thread)} text={name} />}
                <span class="meta num">
                  <Ago ms={startedMs} />
                </span>
              </p>
              {note !== "" && <Safe in="code" class="free meta" text={note} />}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
