import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { messageOf } from "../../src/core/util/errors.ts";
import { highlight } from "../output/highlight.ts";
import { type OutputSearch, createSearch } from "../output/search.ts";
import { type Line, createWindow } from "../output/window.ts";
import { part, post } from "../state/api.ts";
import { jobs } from "../state/model.ts";
import { route } from "../state/route.ts";
import { Output, Safe } from "../text/safe.tsx";
import { sizeOf } from "../text/sizes.ts";
import { Icon } from "../view/icons.tsx";
import { Problem } from "../view/row.tsx";
import { SearchField } from "../view/search-field.tsx";

/** At this distance from either end, more is loaded. Pixels. */
const NEAR = 1_500;
/** How long typing must pause before a search, and the slider before loading, in milliseconds. */
const REST_MS = 200;
/** How often a growing output is read again, in milliseconds. */
const GROWS_MS = 700;
/** Steps of the slider. */
const STEPS = 1_000;
/** Longer lines come in parts of this size, so each is shown whole. */
const MAX_LINE = 65_536;

/** Shows a saved output or a job's output of any size. Keeps only a few pieces in memory. */
export function OutputPage() {
  const id = route.value.view === "page" ? (route.value.item ?? "") : "";
  return <Viewer key={id} id={id} />;
}

function Viewer({ id }: { readonly id: string }) {
  const [text, search] = useMemo(() => [createWindow(id), createSearch(id)] as const, [id]);
  const box = useRef<HTMLDivElement>(null);
  /** The byte at which the first visible line begins. */
  const at = useSignal(0);
  /** Whether the end stays visible when the output grows. */
  const follows = useRef(false);
  /** The line that keeps its position, in pixels below the top, when pieces before it are added or dropped. */
  const anchor = useRef<{ readonly at: number; readonly top: number }>(undefined);
  const job = jobs.value.find(({ here, job: name }) => here && id === `job-${name}`);
  const isRunning = job !== undefined && job.ended === undefined;
  const [pieces, size] = [text.pieces.value, text.size.value ?? 0];

  const jump = (byte: number) => {
    anchor.current = undefined;
    follows.current = byte >= size;
    return follows.current ? text.jumpToEnd() : text.jump(byte);
  };
  const goTo = async (offset: number | undefined) => {
    if (offset === undefined) return;
    follows.current = false;
    anchor.current = { at: offset, top: (box.current?.clientHeight ?? 0) / 3 };
    if (pieces.some((piece) => piece.some((line) => line.at === offset))) return place();
    await text.jump(offset);
    await text.extend("before");
  };
  const place = () => {
    const { current } = box;
    if (current === null) return;
    const row = current.querySelector<HTMLElement>(`[data-at="${anchor.current?.at}"]`);
    if (follows.current) current.scrollTop = current.scrollHeight;
    else current.scrollTop = row === null ? 0 : row.offsetTop - (anchor.current?.top ?? 0);
    scrolled();
  };
  const scrolled = () => {
    const { current } = box;
    if (current === null) return;
    const below = current.scrollHeight - current.scrollTop - current.clientHeight;
    follows.current = below < 24 && text.isAtEnd();
    const row = firstSeen(current);
    if (row !== undefined) {
      anchor.current = { at: Number(row.dataset["at"]), top: row.offsetTop - current.scrollTop };
      at.value = follows.current ? size : anchor.current.at;
    }
    if (current.scrollTop < NEAR) void text.extend("before");
    if (below < NEAR) void text.extend("after");
  };

  useEffect(() => {
    follows.current = isRunning;
    void (isRunning ? text.jumpToEnd() : text.jump(0));
    return () => {
      text.close();
      search.close();
      highlight(document.body, "");
    };
  }, [text]);
  useEffect(() => {
    if (!isRunning) return;
    const grow = async () => {
      const { current: followed } = follows;
      await text.refresh();
      if (!followed || text.isAtEnd()) return text.extend("after");
      follows.current = true; // more was written than one piece holds
      return text.jumpToEnd();
    };
    const timer = setInterval(() => document.hidden || !text.isAtEnd() || void grow(), GROWS_MS);
    return () => clearInterval(timer);
  }, [text, isRunning]);
  useLayoutEffect(place, [pieces]);
  useLayoutEffect(() => {
    if (box.current !== null) highlight(box.current, search.text.value);
  }, [pieces, search.text.value, search.hits.value]);

  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const slid = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    at.value = Math.floor((Number(currentTarget.value) / STEPS) * size);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void jump(at.value), REST_MS);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    void jump(event.key === "End" ? size : 0);
  };
  /** The browser itself loads the file, so its address has a ticket in place of the secret. */
  const download = async () => {
    const { url } = await post<{ url: string }>(`/api/outputs/${part(id)}/ticket`);
    Object.assign(document.createElement("a"), { href: url, download: "" }).click();
  };

  const failure = text.failure.value;
  if (failure !== "" && text.size.value === undefined) {
    return (
      <div class="void" role="alert">
        <h2>This output cannot be shown</h2>
        <Safe in="p" text={failure} />
      </div>
    );
  }
  const position = `${sizeOf(at.value)} of ${sizeOf(size)}`;
  const hit = search.hits.value[search.index.value];
  return (
    <div class="output">
      <div class="tools flex">
        <Safe in="code" class="clip" text={job?.command ?? id} />
        <Search search={search} size={size} goTo={goTo} />
        <button class="btn" onClick={() => void download().catch((error) => (text.failure.value = messageOf(error)))}>
          Download
        </button>
      </div>
      <Problem text={failure} />
      <div
        {...{ class: "lines mono", ref: box, tabIndex: 0, role: "region", "aria-label": "Output" }}
        onScroll={scrolled}
        onKeyDown={keys}
      >
        {text.size.value === 0 && <p class="none">It is empty.</p>}
        {pieces.map((lines) => (
          <Lines key={lines[0]?.at} lines={lines} hit={lines.some((line) => line.at === hit) ? hit : undefined} />
        ))}
      </div>
      <div class="strip flex position num">
        <input
          {...{ type: "range", "aria-label": "Position", "aria-valuetext": position, min: 0, max: STEPS }}
          value={size === 0 ? 0 : Math.round((at.value / size) * STEPS)}
          onInput={slid}
        />
        <span>{position}</span>
        {job !== undefined && <span>{isRunning ? "Running" : "Its process is gone. Output ends here."}</span>}
      </div>
    </div>
  );
}

function Lines({ lines, hit }: { readonly lines: readonly Line[]; readonly hit: number | undefined }) {
  // Most renders do not change these lines.
  return useMemo(
    () => (
      <div>
        {lines.map(({ at, text }) => (
          <div key={at} class={`ln free ${at === hit ? "hit" : ""}`} data-at={at}>
            <Output lines={[text.replaceAll("\r", "\n")]} most={MAX_LINE} />
          </div>
        ))}
      </div>
    ),
    [lines, hit],
  );
}

interface SearchProps {
  readonly search: OutputSearch;
  readonly size: number;
  readonly goTo: (offset: number | undefined) => Promise<void>;
}

function Search({ search, size, goTo }: SearchProps) {
  const typed = useSignal("");
  useEffect(() => {
    if (typed.value === search.text.value) return;
    const timer = setTimeout(() => void search.begin(typed.value).then(goTo), REST_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const move = (step: 1 | -1) => void search.move(step).then(goTo);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") typed.value = "";
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (typed.value === search.text.value) move(event.shiftKey ? -1 : 1);
  };
  const isLast = search.index.value >= search.hits.value.length - 1 && search.searchedTo.value === undefined;
  return (
    <div class="searching" role="search">
      <SearchField label="Search this output" text={typed} maxLength={1_000} onKeyDown={keys}>
        <span class="count clip num" role="status">
          {wordsOf(search, size)}
        </span>
      </SearchField>
      <button class="ib" aria-label="Previous match" disabled={search.index.value <= 0} onClick={() => move(-1)}>
        <Icon name="up" />
      </button>
      <button class="ib" aria-label="Next match" disabled={search.isBusy.value || isLast} onClick={() => move(1)}>
        <Icon name="down" />
      </button>
    </div>
  );
}

/** Returns the search status: "3 of 12", "3 of 100+", "Searched 128 MB", "No match". */
function wordsOf({ text, hits, index, searchedTo, isBusy, failure }: OutputSearch, size: number): string {
  if (text.value === "") return "";
  if (failure.value !== "") return failure.value;
  if (isBusy.value) return `Searched ${sizeOf(searchedTo.value ?? size)}`;
  if (hits.value.length === 0) return "No match";
  const more = searchedTo.value === undefined ? "" : "+";
  return `${(index.value + 1).toLocaleString("en")} of ${hits.value.length.toLocaleString("en")}${more}`;
}

/** Returns the first visible line, by binary search. */
function firstSeen(box: HTMLElement): HTMLElement | undefined {
  const rows = box.getElementsByClassName("ln");
  let [low, high] = [0, rows.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle] as HTMLElement;
    if (row.offsetTop + row.offsetHeight <= box.scrollTop) low = middle + 1;
    else high = middle;
  }
  return rows[low] as HTMLElement | undefined;
}
