import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { highlight } from "../output/highlight.ts";
import { type OutputSearch, createSearch } from "../output/search.ts";
import { type OutputWindow, type Piece, createWindow } from "../output/window.ts";
import { part, post } from "../state/api.ts";
import { jobs } from "../state/model.ts";
import { route } from "../state/route.ts";
import { Output, Safe } from "../text/safe.tsx";
import { sizeOf } from "../text/sizes.ts";
import { Icon } from "../view/icons.tsx";

/** Distance from either end at which more is loaded, in pixels. */
const NEAR = 1_500;
/** How long typing must pause before a search, and the slider before loading, in milliseconds. */
const REST_MS = 200;
/** How often a growing output is read again, in milliseconds. */
const GROWS_MS = 700;
/** Steps of the slider. */
const STEPS = 1_000;
/** The server sends longer lines in parts of this size, so each is shown whole. */
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
  const job = jobs.value.find(({ here, job: name }) => here && id === `job-${name}`);
  const isRunning = job !== undefined && job.ended === undefined;
  const follows = useRef(false);

  useEffect(() => {
    void (isRunning ? text.jumpToEnd() : text.jump(0));
    follows.current = isRunning;
    return () => {
      text.close();
      search.close();
    };
  }, [text]);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => {
      const last = text.pieces.value.at(-1);
      if (document.hidden || last === undefined || last.end < text.size.value) return;
      void text.refresh().then(() => text.extend("after"));
    }, GROWS_MS);
    return () => clearInterval(timer);
  }, [text, isRunning]);

  const goTo = async (offset: number | undefined) => {
    if (offset === undefined) return;
    follows.current = false;
    const isThere = text.pieces.value.some(({ offsets }) => offsets.includes(offset));
    if (!isThere) await text.jump(offset);
    await drawn();
    const row = box.current?.querySelector<HTMLElement>(`[data-at="${offset}"]`);
    if (row === null || row === undefined || box.current === null) return;
    box.current.scrollTop = row.offsetTop - box.current.clientHeight / 3;
    // Also loads the lines before the hit.
    if (!isThere) void text.extend("before");
  };

  /** The browser itself loads the file, so its address has a ticket in place of the secret. */
  const download = async () => {
    const { url } = await post<{ url: string }>(`/api/outputs/${part(id)}/ticket`);
    const link = document.createElement("a");
    link.href = url;
    link.download = "";
    link.click();
  };

  if (text.failure.value !== "" && text.pieces.value.length === 0) {
    return (
      <div class="void" role="alert">
        <h2>This output cannot be shown</h2>
        <p>
          <Safe text={text.failure.value} />
        </p>
      </div>
    );
  }
  return (
    <div class="output">
      <div class="tools flex">
        <code class="clip">
          <Safe text={job?.command ?? id} />
        </code>
        <Search search={search} size={text.size} goTo={goTo} />
        <button class="btn" onClick={() => void download().catch((error) => (text.failure.value = String(error)))}>
          Download
        </button>
      </div>
      {text.failure.value !== "" && (
        <p class="problem" role="alert">
          {text.failure.value}
        </p>
      )}
      <Lines {...{ text, search, box, at, follows }} />
      <Position {...{ text, at, follows }} isRunning={isRunning} isJob={job !== undefined} />
    </div>
  );
}

interface LinesProps {
  readonly text: OutputWindow;
  readonly search: OutputSearch;
  readonly box: { current: HTMLDivElement | null };
  readonly at: Signal<number>;
  readonly follows: { current: boolean };
}

function Lines({ text, search, box, at, follows }: LinesProps) {
  /** The reading position. It does not move when pieces before it are added or dropped. */
  const anchor = useRef<{ readonly offset: string; readonly top: number } | undefined>(undefined);
  const { value: pieces } = text.pieces;

  const scrolled = () => {
    const { current } = box;
    if (current === null) return;
    const below = current.scrollHeight - current.scrollTop - current.clientHeight;
    const [first, last] = [pieces[0], pieces.at(-1)];
    follows.current = below < 24 && last !== undefined && last.end >= text.size.value;
    const row = firstSeen(current);
    if (row !== undefined) {
      anchor.current = { offset: row.dataset["at"] ?? "", top: row.offsetTop - current.scrollTop };
      at.value = follows.current ? text.size.value : Number(anchor.current.offset);
    }
    if (current.scrollTop < NEAR && first !== undefined && first.start > 0) void text.extend("before");
    else if (below < NEAR) void text.extend("after");
  };

  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return;
    if (follows.current) current.scrollTop = current.scrollHeight;
    else {
      const held = anchor.current;
      const row =
        held === undefined ? null : current.querySelector<HTMLElement>(`[data-at="${CSS.escape(held.offset)}"]`);
      if (row !== null && held !== undefined) current.scrollTop = row.offsetTop - held.top;
      else current.scrollTop = 0; // the position moved to another part of the output
    }
    scrolled();
  }, [pieces]);
  useLayoutEffect(() => {
    if (box.current !== null) highlight(box.current, search.text.value);
  }, [pieces, search.text.value, search.hits.value]);
  useEffect(() => () => highlight(document.body, ""), []);

  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    anchor.current = undefined;
    follows.current = event.key === "End";
    void (event.key === "End" ? text.jumpToEnd() : text.jump(0));
  };
  const hit = search.hits.value[search.index.value];
  return (
    <div
      class="lines mono"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label="Output"
      onScroll={scrolled}
      onKeyDown={keys}
    >
      {text.size.value === 0 && pieces.length > 0 && <p class="none">It is empty.</p>}
      {pieces.map((piece) => (
        <PieceView key={piece.start} piece={piece} hit={hit} />
      ))}
    </div>
  );
}

function PieceView({ piece, hit }: { readonly piece: Piece; readonly hit: number | undefined }) {
  const own = hit !== undefined && hit >= piece.start && hit < piece.end ? hit : undefined;
  // Most renders do not change this piece.
  return useMemo(
    () => (
      <div>
        {piece.lines.map((line, index) => (
          <div
            key={index}
            class={`ln free ${piece.offsets[index] === own ? "hit" : ""}`}
            data-at={piece.offsets[index]}
          >
            <Output lines={[line.replace(/\r+$/, "").replaceAll("\r", "\n")]} most={MAX_LINE} />
          </div>
        ))}
      </div>
    ),
    [piece, own],
  );
}

interface SearchProps {
  readonly search: OutputSearch;
  readonly size: Signal<number>;
  readonly goTo: (offset: number | undefined) => Promise<void>;
}

function Search({ search, size, goTo }: SearchProps) {
  const typed = useSignal("");
  const input = useRef<HTMLInputElement>(null);
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
  const count = search.hits.value.length;
  return (
    <div class="searching" role="search">
      <label class="find flex">
        <Icon name="find" />
        <span class="vh">Search this output</span>
        <input
          ref={input}
          type="search"
          placeholder="Search this output"
          maxLength={1_000}
          value={typed.value}
          onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
          onKeyDown={keys}
        />
        <span class="count clip num" role="status">
          {wordsOf(search, size.value)}
        </span>
      </label>
      <button class="ib" aria-label="Previous match" disabled={search.index.value <= 0} onClick={() => move(-1)}>
        <Icon name="up" />
      </button>
      <button
        class="ib"
        aria-label="Next match"
        disabled={search.isBusy.value || (search.index.value >= count - 1 && search.searchedTo.value === undefined)}
        onClick={() => move(1)}
      >
        <Icon name="down" />
      </button>
    </div>
  );
}

/** Returns the search status: "3 of 12", "3 of 100+", "Searched 128 MB", "No match". */
function wordsOf(search: OutputSearch, size: number): string {
  const { text, hits, index, searchedTo, isBusy, failure } = search;
  if (text.value === "") return "";
  if (failure.value !== "") return failure.value;
  if (isBusy.value) return `Searched ${sizeOf(searchedTo.value ?? size)}`;
  if (hits.value.length === 0) return "No match";
  const more = searchedTo.value === undefined ? "" : "+";
  return `${(index.value + 1).toLocaleString("en")} of ${hits.value.length.toLocaleString("en")}${more}`;
}

interface PositionProps {
  readonly text: OutputWindow;
  readonly at: Signal<number>;
  readonly follows: { current: boolean };
  readonly isRunning: boolean;
  readonly isJob: boolean;
}

/** The position in the whole output, as a slider. */
function Position({ text, at, follows, isRunning, isJob }: PositionProps) {
  const size = text.size.value;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const slid = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    const byte = Math.floor((Number(currentTarget.value) / STEPS) * size);
    at.value = byte;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      follows.current = byte >= size;
      void (byte >= size ? text.jumpToEnd() : text.jump(byte));
    }, REST_MS);
  };
  const words = `${sizeOf(at.value)} of ${sizeOf(size)}`;
  return (
    <div class="strip flex position num">
      <input
        type="range"
        aria-label="Position"
        aria-valuetext={words}
        min={0}
        max={STEPS}
        value={size === 0 ? 0 : Math.round((at.value / size) * STEPS)}
        onInput={slid}
      />
      <span>{words}</span>
      {isJob && <span>{isRunning ? "Running" : "Its process is gone. Output ends here."}</span>}
    </div>
  );
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

function drawn(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => resolve());
  });
}
