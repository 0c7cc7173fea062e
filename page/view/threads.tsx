import { useComputed, useSignal } from "@preact/signals";
import type { ThreadState } from "../../src/serve/thread-state.ts";
import { PAGES } from "../pages/index.ts";
import { connection, isLoaded, now, open, threads } from "../state/model.ts";
import { askForNotifications, permission } from "../state/notifications.ts";
import { goTo, route, threadAddress, view } from "../state/route.ts";
import { type ThreadStatus, statusOf, titleOf, wordsOf } from "../state/thread-status.ts";
import { Safe } from "../text/safe.tsx";
import { clock, dayName } from "../text/times.ts";
import { Icon, type IconName } from "./icons.tsx";
import { Ago } from "./when.tsx";
import { SearchField } from "./search-field.tsx";

/** The maximum number of listed threads. Search finds older ones. */
const MOST = 200;

const LOOKS: {
  readonly [S in ThreadStatus]: { readonly icon: IconName; readonly word: string; readonly look: string };
} = {
  waiting: { icon: "ask", word: "Needs you", look: "wait" },
  running: { icon: "run", word: "Running", look: "run spin" },
  failed: { icon: "fail", word: "Failed", look: "fail" },
  stopped: { icon: "stop", word: "Stopped", look: "off" },
  interrupted: { icon: "cut", word: "Interrupted", look: "off" },
  done: { icon: "check", word: "Done", look: "ok" },
};

interface Row {
  readonly state: ThreadState;
  readonly status: ThreadStatus;
  readonly isChild: boolean;
}

/** The list of threads, those that wait for a person first, with links to the pages below it. */
export function Threads() {
  const text = useSignal("");
  const groups = useComputed(() => grouped([...threads.value.values()], text.value, now.value));
  return (
    <nav class="pane threads" aria-label="Threads">
      <div class="bar flex">
        <span class="word flex">
          <Icon name="rail" />
          Handrail
        </span>
        <span class="sp" />
        <button class="ib" aria-label="New thread" onClick={() => goTo("#/threads")}>
          <Icon name="plus" />
        </button>
      </div>
      <SearchField label="Search threads" text={text} id="search">
        <kbd class="wide">/</kbd>
      </SearchField>
      <div class="tl">
        {groups.value.map(({ name, count, rows }) => (
          <section key={name} aria-label={name}>
            <h2 class="meta">
              {name}
              <span class="sp" />
              {count !== undefined && <span class="num">{count}</span>}
            </h2>
            {rows.map((row) => (
              <ThreadRow key={row.state.thread} {...row} />
            ))}
          </section>
        ))}
        {isLoaded.value && groups.value.length === 0 && (
          <p class="none">{text.value === "" ? "No threads yet." : "No thread matches."}</p>
        )}
      </div>
      <div class="foot">
        <ul>
          {PAGES.filter(({ isHidden }) => isHidden !== true).map(({ id, title }) => (
            <li key={id}>
              <a href={`#/${id}`} aria-current={isPage(id) ? "page" : undefined} onClick={() => (view.value = "main")}>
                {title}
              </a>
            </li>
          ))}
        </ul>
        <ConnectionLine />
      </div>
    </nav>
  );
}

function isPage(id: string): boolean {
  const { value } = route;
  return value.view === "page" && value.page === id;
}

function ThreadRow({ state, status, isChild }: Row) {
  const { icon, word, look } = LOOKS[status];
  const isShown = open.value?.thread === state.thread;
  const isOver = status !== "waiting" && status !== "running";
  const since = status === "waiting" ? state.recent.find((each) => each.status === "waiting")?.at : undefined;
  const at = since ?? state.changedMs;
  return (
    <a
      href={threadAddress(state.thread)}
      aria-current={isShown ? "true" : undefined}
      class={`pick ${status === "waiting" ? "att" : ""} ${isOver ? "done" : ""} ${isChild ? "child" : ""}`}
    >
      <Icon name={icon} class={look} />
      <b class="clip">
        <span class="vh">{word}: </span>
        <Safe text={titleOf(state)} />
      </b>
      <Ago ms={at} />
      <Safe in="small" class="clip" text={wordsOf(state, status)} />
    </a>
  );
}

function ConnectionLine() {
  const { value } = connection;
  return (
    <div class={`conn flex meta is-${value.how}`} role="status">
      <span class="dot" />
      {value.how === "connected" && "Connected"}
      {value.how === "connecting" && "Connecting"}
      {value.how === "lost" && `Disconnected since ${clock(value.sinceMs)}`}
      <span class="sp" />
      {permission.value === "default" && value.how !== "lost" && (
        <button class="link" onClick={() => void askForNotifications()}>
          Notify me
        </button>
      )}
    </div>
  );
}

interface Group {
  readonly name: string;
  readonly count?: number;
  readonly rows: readonly Row[];
}

/** Groups a sub-agent's thread below the thread that started it, if both are in the same list. */
function grouped(states: readonly ThreadState[], search: string, time: number): readonly Group[] {
  const words = search.trim().toLowerCase();
  const newest = states.toSorted((one, other) => other.changedMs - one.changedMs);
  const matching = newest.filter((state) => `${titleOf(state)} ${state.thread}`.toLowerCase().includes(words));
  const parentOf = (state: ThreadState) => {
    if (state.parent === undefined) return undefined;
    return matching.find(({ recent }) => recent.some(({ call }) => call === state.parent));
  };
  const children = new Map<string, ThreadState[]>();
  for (const state of matching) {
    const parent = parentOf(state);
    if (parent !== undefined) children.set(parent.thread, [...(children.get(parent.thread) ?? []), state]);
  }
  const below = new Set([...children.values()].flat());
  const groups = new Map<string, Row[]>([
    ["Needs you", []],
    ["Running", []],
  ]);
  for (const state of matching.slice(0, MOST)) {
    if (below.has(state)) continue;
    const status = statusOf(state, time);
    const own = children.get(state.thread) ?? [];
    const needs = [state, ...own].some((each) => statusOf(each, time) === "waiting");
    const name = needs ? "Needs you" : status === "running" ? "Running" : dayName(state.changedMs, time);
    const rows = groups.get(name) ?? [];
    rows.push({ state, status, isChild: false });
    for (const child of own) rows.push({ state: child, status: statusOf(child, time), isChild: true });
    groups.set(name, rows);
  }
  return [...groups].flatMap(([name, rows]) => {
    if (rows.length === 0) return [];
    const counts = name === "Needs you" || name === "Running";
    return [{ name, rows, ...(counts && { count: rows.filter(({ isChild }) => !isChild).length }) }];
  });
}
