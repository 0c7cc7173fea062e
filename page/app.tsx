import { Dock } from "./dock/dock.tsx";
import { PAGES } from "./pages/index.ts";
import { failure, hasTerminal, open, questions } from "./state/model.ts";
import { route, view } from "./state/route.ts";
import { Bar } from "./view/bar.tsx";
import { Icon, type IconName } from "./view/icons.tsx";
import { Inspector } from "./view/inspector.tsx";
import { Keys } from "./view/keys.tsx";
import { Lazy } from "./view/lazy.tsx";
import { Lost } from "./view/lost.tsx";
import { Prompt } from "./view/prompt.tsx";
import { Thread } from "./view/thread.tsx";
import { Threads } from "./view/threads.tsx";

/** The layout: three columns, two, or one with tabs, depending on the width of the window. */
export function App() {
  if (failure.value !== undefined) {
    return (
      <main class="void">
        <h1>The console cannot be shown</h1>
        <p>{failure.value}</p>
        <button class="btn" onClick={() => location.reload()}>
          Try again
        </button>
      </main>
    );
  }
  return (
    <div class="app" data-view={view.value}>
      <Threads />
      <Main />
      <Inspector />
      <nav class="tabs" aria-label="Views">
        <Tab to="threads" icon="list" title="Threads" />
        <Tab to="main" icon="talk" title="Thread" />
        <Tab to="inspector" icon="job" title="Jobs" />
        {hasTerminal.value && <Tab to="terminal" icon="terminal" title="Terminal" />}
      </nav>
      <Keys />
    </div>
  );
}

/** A thread or a page, with the open question below it, so that the question stays visible everywhere. */
function Main() {
  const { value } = route;
  const thread = open.value?.thread;
  return (
    <main class={`pane ${value.view}`}>
      {value.view === "thread" ? <Thread /> : <Page id={value.page} />}
      <Lost />
      <Dock />
      {value.view === "thread" && <Prompt key={thread} thread={thread} />}
    </main>
  );
}

function Page({ id }: { readonly id: string }) {
  const page = PAGES.find((each) => each.id === id);
  return (
    <>
      <Bar title={<h1 class="clip">{page?.title ?? "There is no such page"}</h1>} />
      <div class="panel">
        {page === undefined ? (
          <p class="load">Choose a thread or a page in the list.</p>
        ) : (
          <Lazy key={page.id} load={page.load} title={page.title} />
        )}
      </div>
    </>
  );
}

function Tab({ to, icon, title }: { readonly to: typeof view.value; readonly icon: IconName; readonly title: string }) {
  return (
    <button class="meta" aria-current={view.value === to ? "page" : undefined} onClick={() => (view.value = to)}>
      <Icon name={icon} />
      {title}
      {to === "threads" && questions.value.length > 0 && (
        <span class="n">
          {questions.value.length}
          <span class="vh"> waiting for you</span>
        </span>
      )}
    </button>
  );
}
