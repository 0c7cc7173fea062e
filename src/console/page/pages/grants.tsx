import { useSignal } from "@preact/signals";
import { get, part, post } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { isConnected, now } from "../state/model.ts";
import { Safe, safeText } from "../text/safe.tsx";
import { ago } from "../text/times.ts";
import { Waiting } from "../view/waiting.tsx";
import { When } from "../view/when.tsx";

interface Grant {
  readonly id: string;
  readonly label: string;
  readonly workspace: { readonly backend: string; readonly folder: string };
  readonly since: number;
  readonly until?: number;
}

/** Permanent grants, and a button to revoke each. */
export function Grants() {
  const loaded = useLoaded((signal) => get<{ readonly grants: readonly Grant[] }>("/api/grants", signal));
  const grants = loaded.value.value?.grants.toReversed();
  return (
    <div class="sheet">
      <p class="lead">
        Calls that you allowed with <b>Always here</b>. They are not asked about again, in any process, until you revoke
        them.
      </p>
      <Waiting of={loaded} words="Loading grants" />
      {grants?.length === 0 && (
        <div class="void">
          <h2>No grants</h2>
          <p>Answer a question with “Always here”, and it appears here.</p>
        </div>
      )}
      <ul class="rows">
        {grants?.map((grant) => (
          <GrantRow key={grant.id} grant={grant} onRevoked={loaded.reload} />
        ))}
      </ul>
    </div>
  );
}

function GrantRow({ grant, onRevoked }: { readonly grant: Grant; readonly onRevoked: () => void }) {
  const { id, label, workspace, since, until } = grant;
  const isBusy = useSignal(false);
  const failure = useSignal("");
  const revoke = async () => {
    isBusy.value = true;
    try {
      await post(`/api/grants/${part(id)}/revoke`);
      onRevoked();
    } catch (error) {
      failure.value = error instanceof Error ? error.message : String(error);
      isBusy.value = false;
    }
  };
  return (
    <li class="row">
      <div class="what">
        <code class="free">
          <Safe text={label} />
        </code>
        <p class="facts-line meta num">
          <span>
            <Safe text={workspace.folder} />
          </span>
          {workspace.backend !== "local" && (
            <span>
              on <Safe text={workspace.backend} />
            </span>
          )}
          <span>
            since <When ms={since} text={ago(since, now.value)} />
          </span>
          <span>{until === undefined ? "until revoked" : <>until {<When ms={until} text={later(until)} />}</>}</span>
        </p>
        {failure.value !== "" && (
          <p class="problem" role="alert">
            {failure.value}
          </p>
        )}
      </div>
      <button
        class="btn"
        disabled={isBusy.value || !isConnected.value}
        aria-label={`Revoke ${safeText(label)}`}
        onClick={() => void revoke()}
      >
        Revoke
      </button>
    </li>
  );
}

function later(ms: number): string {
  return new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  }).format(ms);
}
