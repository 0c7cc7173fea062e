import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { MEMORY_CATEGORIES, type Memory, type MemoryCategory } from "../../src/core/contract/memory.ts";
import { useAction } from "../state/action.ts";
import { get, post } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { Safe, safeText } from "../text/safe.tsx";
import { Confirm } from "../view/confirm.tsx";
import { Waiting } from "../view/waiting.tsx";
import { Ago } from "../view/when.tsx";
import { SearchField } from "../view/search-field.tsx";

/** Memories per request. */
const PAGE = 100;
/** How long typing must pause before a search, in milliseconds. */
const REST_MS = 150;
/** Longer memories are folded. In characters. */
const FOLDED = 400;

/** The memories of agents: listed, searched, forgotten. */
export function MemoryPage() {
  const typed = useSignal("");
  const text = useSignal("");
  const category = useSignal<MemoryCategory | undefined>(undefined);
  const older = useSignal<readonly Memory[]>([]);
  const isAtEnd = useSignal(false);
  const { failure, attempt } = useAction();

  useEffect(() => {
    const timer = setTimeout(() => (text.value = typed.value.trim()), REST_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);

  const load = async (before?: number, signal?: AbortSignal) => {
    const query = new URLSearchParams();
    if (text.value !== "") query.set("text", text.value);
    else if (category.value !== undefined) query.set("category", category.value);
    if (before !== undefined) query.set("before", String(before));
    return (await get<{ readonly memories: readonly Memory[] }>(`/api/memories?${query}`, signal)).memories;
  };
  const loaded = useLoaded(
    async (signal) => {
      const first = await load(undefined, signal);
      older.value = [];
      isAtEnd.value = first.length < PAGE || text.value !== "";
      return first;
    },
    [text.value, category.value],
  );

  const all = loaded.value.value === undefined ? undefined : [...loaded.value.value, ...older.value];
  // A search has no category filter: the server's best matches are filtered here.
  const shown = all?.filter((each) => category.value === undefined || each.category === category.value);
  const more = () =>
    void attempt(async () => {
      const next = await load(all?.at(-1)?.id);
      older.value = [...older.value, ...next];
      isAtEnd.value = next.length < PAGE;
    });
  const forget = async (key: string) => {
    await post("/api/memories/forget", { key });
    loaded.value.value = loaded.value.value?.filter((each) => each.key !== key);
    older.value = older.value.filter((each) => each.key !== key);
  };

  return (
    <div class="sheet">
      <div class="tools flex">
        <SearchField label="Search memories" text={typed} maxLength={1_000} />
        <div class="seg" role="group" aria-label="Category">
          {[undefined, ...MEMORY_CATEGORIES].map((each) => (
            <button key={each} aria-pressed={category.value === each} onClick={() => (category.value = each)}>
              {each === undefined ? "All" : each}
            </button>
          ))}
        </div>
      </div>
      <Waiting of={loaded} words="Loading memories" />
      <p class="vh" role="status">
        {shown === undefined ? "" : `${shown.length} memories`}
      </p>
      {shown?.length === 0 && (
        <div class="void">
          <h2>{text.value === "" ? "No memories" : "No memory matches"}</h2>
          {text.value === "" && <p>What an agent stores with memory_store appears here.</p>}
        </div>
      )}
      <ul class="rows">
        {shown?.map((memory) => (
          <MemoryRow key={memory.id} memory={memory} forget={forget} />
        ))}
      </ul>
      {shown !== undefined && !isAtEnd.value && (
        <p class="more flex">
          {failure.value !== "" && <span class="problem">{failure.value}</span>}
          <button class="btn" onClick={more}>
            Load more
          </button>
        </p>
      )}
    </div>
  );
}

function MemoryRow({ memory, forget }: { readonly memory: Memory; readonly forget: (key: string) => Promise<void> }) {
  const { key, content, category, storedMs } = memory;
  const isWhole = useSignal(content.length <= FOLDED);
  return (
    <li class="row" data-memory={key}>
      <div class="what">
        <p class="name">
          <Safe in="b" text={key} />
          <span class="tag">{category}</span>
          <Ago ms={storedMs} />
        </p>
        <Safe in="p" class="text free" text={isWhole.value ? content : `${content.slice(0, FOLDED)}…`} />
        {!isWhole.value && (
          <button class="link" onClick={() => (isWhole.value = true)}>
            Show all of {content.length.toLocaleString("en")} characters
          </button>
        )}
      </div>
      <Confirm word="Forget" what={safeText(key)} act={() => forget(key)} />
    </li>
  );
}
