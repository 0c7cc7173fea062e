import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Fields, FieldView } from "../form/fields.tsx";
import { type Entered, type Field, fieldOf, inputOf, problemsIn } from "../form/schema.ts";
import { useAction } from "../state/action.ts";
import { get, part, post } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { beside, isConnected, open, threads } from "../state/model.ts";
import type { CallShown } from "../state/open-thread.ts";
import { route, threadAddress } from "../state/route.ts";
import { titleOf } from "../state/thread-status.ts";
import { Safe, safeText } from "../text/safe.tsx";
import { Cell } from "../view/cell.tsx";
import { Problem } from "../view/row.tsx";
import { Waiting } from "../view/waiting.tsx";
import { SearchField } from "../view/search-field.tsx";
import { withoutBoundaries } from "../../src/core/util/boundary.ts";

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

/** The maximum number of threads offered for a call, newest first. */
const MOST_THREADS = 30;
/** The maximum number of this page's calls that are shown, newest first. */
const MOST_CALLS = 5;

/** The tools, and a form for the selected one. */
export function Tools() {
  const loaded = useLoaded(async (signal) => {
    return (await get<{ readonly tools: readonly ListedTool[] }>("/api/tools", signal)).tools;
  });
  const words = useSignal("");
  useEffect(() => () => void (beside.value = undefined), []);
  const name = route.value.view === "page" ? route.value.item : undefined;
  const tools = loaded.value.value;
  const tool = tools?.find((each) => each.name === name);
  const wanted = words.value.trim().toLowerCase();
  const shown = tools?.filter((each) => `${each.name} ${each.description}`.toLowerCase().includes(wanted));
  return (
    <div class={`toolbox ${name === undefined ? "no-tool" : ""}`}>
      <nav class="names" aria-label="Tools">
        <SearchField label="Search tools" text={words} />
        <Waiting of={loaded} words="Loading tools" />
        <ul>
          {shown?.map((each) => (
            <li key={each.name}>
              <a class="pick" href={`#/tools/${part(each.name)}`} aria-current={each === tool ? "true" : undefined}>
                <Safe in="code" text={each.name} />
                <Safe in="small" class="clip" text={firstSentence(each.description)} />
              </a>
            </li>
          ))}
        </ul>
        {tools !== undefined && shown?.length === 0 && (
          <p class="off">{tools.length === 0 ? "This toolset is empty." : "No tool matches."}</p>
        )}
      </nav>
      {tool !== undefined && <ToolForm key={tool.name} tool={tool} />}
      {tools !== undefined && tool === undefined && (
        <div class="void">
          <h2>{name === undefined ? "Choose a tool" : <Safe text={`There is no tool ${name}`} />}</h2>
          <p>A call from here is judged and recorded like any other.</p>
        </div>
      )}
    </div>
  );
}

interface Made {
  readonly thread: string;
  readonly call: string;
}

function ToolForm({ tool }: { readonly tool: ListedTool }) {
  const field = fieldOf(tool.parameters);
  const entered = useSignal<Entered>(undefined);
  const problems = useSignal<ReadonlyMap<string, string>>(new Map());
  const thread = useSignal(beside.peek() ?? "");
  const made = useSignal<readonly Made[]>([]);
  const { failure, isBusy, attempt } = useAction();
  const form = useRef<HTMLFormElement>(null);

  const report = (found: ReadonlyMap<string, string>) => {
    problems.value = found;
    const [first] = found.keys();
    if (first === undefined) return;
    const places = [...(form.current?.querySelectorAll<HTMLElement>("[data-field]") ?? [])];
    places.find((each) => each.dataset["field"] === first)?.focus();
  };

  const run = () => {
    if (isBusy.value || !isConnected.value) return;
    const input = inputOf(field, entered.value);
    failure.value = "";
    report(input.problems);
    if (input.problems.size > 0) return;
    void attempt(async () => {
      const chosen = thread.value || (await post<{ readonly thread: string }>("/api/threads")).thread;
      // The thread is followed before the call is made, so that its cell updates live from the start.
      [thread.value, beside.value] = [chosen, chosen];
      const body = { name: tool.name, input: input.value ?? {} };
      const { call } = await post<{ readonly call: string }>(`/api/threads/${part(chosen)}/calls`, body);
      made.value = [{ thread: chosen, call }, ...made.value].slice(0, MOST_CALLS);
    });
  };

  const unplaced = [...problems.value].filter(([path]) => !isPlaced(field, path));
  return (
    <section class="tool-form" aria-label={safeText(tool.name)}>
      <a class="link narrow" href="#/tools">
        All tools
      </a>
      <h2>
        <Safe in="code" text={tool.name} />
      </h2>
      <Safe in="p" class="lead free" text={tool.description} />
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          run();
        }}
      >
        {field.kind === "object" ? (
          <Fields {...{ field, path: "", entered: entered.value, problems: problems.value }} onEnter={enter} />
        ) : (
          <FieldView
            {...{ field: { ...field, name: "arguments" }, path: "", entered: entered.value, problems: problems.value }}
            onEnter={enter}
          />
        )}
        {field.kind === "object" && field.fields.length === 0 && <p class="off">It takes no arguments.</p>}
        {unplaced.map(([path, problem]) => (
          <Safe key={path} in="p" class="problem" role="alert" text={problem} />
        ))}
        <Problem text={failure.value} />
        <div class="submit flex">
          <button class="btn ink" type="submit" disabled={isBusy.value || !isConnected.value}>
            Run tool
          </button>
          <label class="flex">
            <span>in</span>
            <span class="vh">which thread</span>
            <ThreadChoice thread={thread} />
          </label>
          <span class="sp" />
          <span class="wide" aria-hidden="true">
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </span>
        </div>
      </form>
      <Made made={made.value} onInvalid={report} />
    </section>
  );

  function enter(next: Entered): void {
    entered.value = next;
  }
}

function ThreadChoice({ thread }: { readonly thread: { value: string } }) {
  const newest = [...threads.value.values()].toSorted((one, other) => other.changedMs - one.changedMs);
  const listed = newest.slice(0, MOST_THREADS);
  const isListed = thread.value === "" || listed.some((each) => each.thread === thread.value);
  return (
    <select class="ctl" value={thread.value} onChange={({ currentTarget }) => (thread.value = currentTarget.value)}>
      <option value="">a new thread</option>
      {!isListed && <option value={thread.value}>{safeText(thread.value)}</option>}
      {listed.map((each) => (
        <option key={each.thread} value={each.thread}>
          {safeText(titleOf(each))}
        </option>
      ))}
    </select>
  );
}

interface MadeProps {
  readonly made: readonly Made[];
  readonly onInvalid: (problems: ReadonlyMap<string, string>) => void;
}

/** The calls that were made on this page, live. */
function Made({ made, onInvalid }: MadeProps) {
  const cells = useComputed(() => {
    const found = new Map<string, CallShown>();
    for (const { messages } of open.value?.blocks.value ?? []) {
      for (const message of messages.value) {
        if (message.role === "tool") found.set(message.metadata.tool_activity.id, message);
      }
    }
    return found;
  });
  const [newest] = made;
  const last = newest === undefined ? undefined : cells.value.get(newest.call);
  useEffect(() => {
    if (last?.result === "invalid-input") onInvalid(problemsIn(contentText(last)));
  }, [last?.result, newest?.call]);
  if (newest === undefined) return null;
  return (
    <div class="made">
      <h3 class="head meta">
        Calls from here
        <span class="sp" />
        <a class="link" href={threadAddress(newest.thread)}>
          Open thread
        </a>
      </h3>
      <ol class="cells">
        {made.map(({ call }) => {
          const message = cells.value.get(call);
          return message === undefined ? null : <Cell key={call} message={message} />;
        })}
      </ol>
    </div>
  );
}

/** Returns true if a field shows the problem of a path. */
function isPlaced(field: Field, path: string, own = ""): boolean {
  if (path === own) return own !== "" || field.kind !== "object";
  if (field.kind === "object") {
    return field.fields.some((each) => isPlaced(each, path, own === "" ? each.name : `${own}.${each.name}`));
  }
  if (field.kind !== "list" || !path.startsWith(`${own}[`)) return false;
  const [, index = ""] = /^\[(\d+)\]/.exec(path.slice(own.length)) ?? [];
  return index !== "" && isPlaced(field.item, path, `${own}[${index}]`);
}

function contentText({ content = [] }: CallShown): string {
  return withoutBoundaries(content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n"));
}

function firstSentence(text: string): string {
  const [line = ""] = text.split("\n");
  return /^(.*?)(?:\.(?:\s|$)|:$)/.exec(line)?.[1] ?? line;
}
