import { useAction } from "../state/action.ts";
import { get, post } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { Safe } from "../text/safe.tsx";
import { Confirm } from "../view/confirm.tsx";
import { ActionButton, Facts, Nothing, Problem } from "../view/row.tsx";
import { Waiting } from "../view/waiting.tsx";
import { Ago } from "../view/when.tsx";

interface HeldBack {
  readonly path: string;
  readonly original: string;
  readonly what: string;
  readonly changedMs: number;
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly digest?: string;
  readonly problem?: string;
}

/** The files that the sandbox put aside, with their content, and buttons to put each back or remove it. */
export function HeldBackPage() {
  const loaded = useLoaded((signal) => get<{ readonly files: readonly HeldBack[] }>("/api/held-back", signal));
  const files = loaded.value.value?.files;
  return (
    <div class="sheet">
      <p class="lead">
        Files that commands made in the workspace and that other programs would obey unasked. They were renamed. Read
        one before you put it back.
      </p>
      <Waiting of={loaded} words="Looking for files" />
      {files?.length === 0 && (
        <Nothing title="Nothing put aside">When a command makes such a file, it appears here.</Nothing>
      )}
      <ul class="rows">
        {files?.map((file) => (
          <HeldBackRow key={file.path} file={file} onDone={loaded.reload} />
        ))}
      </ul>
    </div>
  );
}

function HeldBackRow({ file, onDone }: { readonly file: HeldBack; readonly onDone: () => void }) {
  const { path, original, what, changedMs, files, digest, problem } = file;
  const action = useAction();
  return (
    <li class="row">
      <div class="what">
        <Safe in="code" class="free" text={original} />
        <Facts of={[<Safe text={what} />, <Ago ms={changedMs} />]} />
        {files.map((each) => (
          <details key={each.path} open={each.text.length < 2_000}>
            <summary>
              <Safe text={each.path === "" ? "Content" : each.path} />
            </summary>
            <pre>
              <Safe text={each.text} />
            </pre>
          </details>
        ))}
        <Problem text={problem ?? action.failure.value} />
      </div>
      {digest !== undefined && (
        <ActionButton
          {...{ action, label: "Put back", on: original }}
          work={() => post("/api/held-back/put-back", { path, digest }).then(onDone)}
        />
      )}
      <Confirm word="Remove" what={original} act={() => post("/api/held-back/remove", { path }).then(onDone)} />
    </li>
  );
}
