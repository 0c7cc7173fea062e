import { messageOf } from "../../src/core/util/errors.ts";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { StoredEvent } from "../../src/core/contract/activity.ts";
import { part, post, send } from "../state/api.ts";
import { follow } from "../state/followed-calls.ts";
import { type ListedJob, eventListeners, isConnected, jobs, loadJobs, now } from "../state/model.ts";
import { outputAddress } from "../state/route.ts";
import { Output, Safe, safeText } from "../text/safe.tsx";
import { clock, counting, duration } from "../text/times.ts";
import { Icon, type IconName } from "./icons.tsx";
import { Problem } from "./row.tsx";

/** The maximum number of ended jobs listed at first. A button shows the others. */
const MOST_ENDED = 8;
/** How often the end of an output is read, how much of it, and how many lines are shown. */
const TAIL_MS = 600;
const TAIL_BYTES = 4_096;
const TAIL_LINES = 5;
/** How often the output of another process's job is requested, in milliseconds. A request counts for 30 seconds. */
const WATCH_MS = 20_000;

/** How often the ports of running jobs are read, in milliseconds. */
const PORTS_MS = 3_000;

/** The jobs of all processes, running jobs first. */
export function Jobs() {
  const showsAll = useSignal(false);
  /** Whether each job had ended when it was first listed here. A job that ends while it is shown keeps its place. */
  const old = useRef(new Map<number, boolean>());
  const mayListen = jobs.value.some((job) => job.here && job.ended === undefined);
  useEffect(() => {
    if (!mayListen) return;
    const timer = setInterval(() => document.hidden || void loadJobs().catch(() => undefined), PORTS_MS);
    return () => clearInterval(timer);
  }, [mayListen]);
  for (const { id, ended } of jobs.value) if (!old.current.has(id)) old.current.set(id, ended !== undefined);
  const isOld = ({ id }: ListedJob) => old.current.get(id) === true;
  const newest = jobs.value.toReversed();
  const ended = newest.filter(isOld);
  const shown = [...newest.filter((job) => !isOld(job)), ...(showsAll.value ? ended : ended.slice(0, MOST_ENDED))];
  if (shown.length === 0) return <p class="none">No jobs. A command in the background appears here.</p>;
  return (
    <div class="jobs">
      {shown.map((job) => (
        <JobRow key={job.id} job={job} isOld={isOld(job)} />
      ))}
      {!showsAll.value && ended.length > MOST_ENDED && (
        <button class="btn bare" onClick={() => (showsAll.value = true)}>
          Show {ended.length - MOST_ENDED} earlier jobs
        </button>
      )}
    </div>
  );
}

function JobRow({ job, isOld }: { readonly job: ListedJob; readonly isOld: boolean }) {
  const failure = useSignal("");
  const isStopping = useSignal(false);
  const { ended, here } = job;
  const isRunning = ended === undefined;
  const stop = () => {
    [failure.value, isStopping.value] = ["", true];
    post(`/api/jobs/${part(job.id)}/stop`).catch((error: Error) => {
      [failure.value, isStopping.value] = [error.message, false];
    });
  };
  const open = (port: number) => {
    const tab = window.open("about:blank"); // now, in the click: later it counts as a pop-up
    post<{ readonly url: string }>(`/api/jobs/${part(job.id)}/open`, { port }).then(
      ({ url }) => {
        if (tab !== null) tab.opener = null;
        tab?.location.replace(url);
      },
      (error: Error) => {
        tab?.close();
        failure.value = error.message;
      },
    );
  };
  return (
    <article class="job" data-job={job.id}>
      <h3 class="flex">
        <Icon name={iconOf(job)} class={isRunning ? "run spin" : "off"} />
        <Safe in="code" class="clip" title={safeText(job.command)} text={job.command} />
        {isRunning ? (
          <button
            class="btn"
            disabled={!isConnected.value || isStopping.value}
            aria-label={`Stop ${safeText(job.command)}`}
            onClick={stop}
          >
            {isStopping.value ? "Stopping" : "Stop"}
          </button>
        ) : (
          <span class="res clip num">
            <b class={ended.exit.how === "exited" && ended.exit.code !== 0 ? "a-yellow" : ""}>{endOf(ended)}</b>
          </span>
        )}
      </h3>
      <div class="m meta flex num">
        {isRunning ? (
          <>
            <span>Running {counting(now.value - job.startedMs)}</span>
            <span>{job.lifetime === "detached" ? "outlives its process" : "ends with its process"}</span>
          </>
        ) : (
          <>
            <span>Ended {clock(ended.atMs)}</span>
            <span>took {duration(ended.atMs - job.startedMs)}</span>
          </>
        )}
        <span class="sp" />
        {job.ports.map((port) => (
          <button key={port} class="link" type="button" disabled={!isConnected.value} onClick={() => open(port)}>
            Open port {port}
          </button>
        ))}
        {here && (
          <a class="link" href={outputAddress(`job-${job.job}`)}>
            Open output
          </a>
        )}
      </div>
      <Problem text={failure.value} />
      {!isOld && <Tail job={job} />}
      {isOld && !here && isLost(job) && <p class="meta">{GONE}</p>}
    </article>
  );
}

/** The last lines of a job's output, and a field for its input. */
function Tail({ job }: { readonly job: ListedJob }) {
  const lines = useSignal<readonly string[]>([]);
  const isRunning = job.ended === undefined;
  const { here } = job;
  useEffect(() => {
    const show = (text: string) => (lines.value = lastLines(text));
    return here ? readTail(job, show) : watchTail(job, show);
  }, [job.job, isRunning, here]);
  return (
    <div class="tail">
      <pre tabIndex={0} role="log" aria-live="off" aria-label="Last lines">
        <Output lines={lines.value} />
      </pre>
      {isRunning ? <Input job={job} /> : <p class="in flex off">{isLost(job) ? GONE : "Output ends here."}</p>}
    </div>
  );
}

const GONE = "Its process is gone. Output ends here.";

function isLost({ ended }: ListedJob): boolean {
  return ended?.exit.how === "lost";
}

/** Reads the end of a job's output until the returned function is called, or once if the job has ended. */
function readTail(job: ListedJob, show: (text: string) => void): () => void {
  let isGone = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const read = async () => {
    if (!document.hidden) {
      const headers = { range: `bytes=-${TAIL_BYTES}` };
      const text = await send(`/api/outputs/${part(`job-${job.job}`)}`, { headers }).then(
        (answer) => answer.text(),
        () => undefined, // on failure, what was read before stays
      );
      if (isGone) return;
      if (text !== undefined) show(text);
    }
    if (job.ended === undefined) timer = setTimeout(() => void read(), TAIL_MS);
  };
  void read();
  return () => {
    isGone = true;
    clearTimeout(timer);
  };
}

/** Requests the last lines of another process's job, which arrive as events, until the returned function is called. */
function watchTail({ id, call, job, ended }: ListedJob, show: (text: string) => void): () => void {
  const take = (events: readonly StoredEvent[]) => {
    for (const event of events) {
      if (event.type === "job.output" && event.call === call && event.job === job) show(event.text);
    }
  };
  const request = () => {
    if (document.hidden || ended !== undefined) return;
    post(`/api/jobs/${part(id)}/watch`).catch(() => undefined); // what was shown before stays
  };
  eventListeners.add(take);
  document.addEventListener("visibilitychange", request);
  const timer = setInterval(request, WATCH_MS);
  request();
  return () => {
    eventListeners.delete(take);
    document.removeEventListener("visibilitychange", request);
    clearInterval(timer);
  };
}

function Input({ job }: { readonly job: ListedJob }) {
  const text = useSignal("");
  /** The state of the last input; "" if it was written. */
  const state = useSignal("");
  const isEnded = useSignal(false);
  const write = async (body: { readonly text: string; readonly end?: boolean }) => {
    state.value = "Sending";
    try {
      const request = () => post<{ readonly call: string }>(`/api/jobs/${part(job.id)}/input`, body);
      const { status, error } = await follow(request, () => (state.value = "Waiting for you"));
      state.value = status === "ok" ? "" : (error ?? "It was not sent.");
      if (status !== "ok") return;
      text.value = "";
      isEnded.value ||= body.end === true;
    } catch (error) {
      state.value = messageOf(error);
    }
  };
  if (isEnded.value) return <p class="in flex off">Input ended.</p>;
  const isSending = state.value === "Sending" || state.value === "Waiting for you";
  return (
    <>
      <form
        class="in flex off"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isSending) void write({ text: `${text.value}\n` });
        }}
      >
        <span aria-hidden="true">›</span>
        <input
          class="mono"
          aria-label={`Input of ${safeText(job.command)}`}
          placeholder="Input"
          autocomplete="off"
          spellcheck={false}
          maxLength={65_000}
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
        <button class="btn bare" type="submit" disabled={!isConnected.value || isSending}>
          Send
        </button>
        <button
          class="btn bare"
          type="button"
          disabled={!isConnected.value || isSending}
          title="Closes the job's stdin"
          onClick={() => void write({ text: "", end: true })}
        >
          End input
        </button>
      </form>
      {state.value !== "" && state.value !== "Sending" && (
        <p class={state.value === "Waiting for you" ? "in flex wait" : "in flex problem"} role="status">
          {state.value}
        </p>
      )}
    </>
  );
}

/** Returns the last complete lines, without text that carriage returns overwrite. */
function lastLines(text: string): readonly string[] {
  const lines = text.replace(/\n$/, "").split("\n");
  const whole = text.length > TAIL_BYTES / 2 && lines.length > 1 ? lines.slice(1) : lines;
  return whole.slice(-TAIL_LINES).map((line) => {
    const shown = line.replace(/\r+$/, "");
    return shown.slice(shown.lastIndexOf("\r") + 1);
  });
}

function endOf({ exit }: NonNullable<ListedJob["ended"]>): string {
  switch (exit.how) {
    case "exited":
      return `exit ${exit.code}`;
    case "signaled":
      return exit.signal;
    case "lost":
      return "its process is gone";
    default:
      return exit.how.replace("-", " ");
  }
}

function iconOf({ ended }: ListedJob): IconName {
  if (ended === undefined) return "run";
  const { exit } = ended;
  if (exit.how === "exited") return exit.code === 0 ? "check" : "fail";
  return exit.how === "lost" ? "cut" : "stop";
}
