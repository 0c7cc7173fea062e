import type { Grant as KeptGrant } from "../../src/policy/kept-grants.ts";
import { useAction } from "../state/action.ts";
import { get, part, post } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { Safe } from "../text/safe.tsx";
import { ActionButton, Facts, Nothing, Problem } from "../view/row.tsx";
import { Waiting } from "../view/waiting.tsx";
import { Ago, When } from "../view/when.tsx";

type Grant = Omit<KeptGrant, "key"> & { readonly id: string };

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
        <Nothing title="No grants">Answer a question with “Always here”, and it appears here.</Nothing>
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
  const action = useAction();
  return (
    <li class="row">
      <div class="what">
        <Safe in="code" class="free" text={label} />
        <Facts
          of={[
            <Safe text={workspace.folder} />,
            ...(workspace.backend === "local" ? [] : [<Safe text={`on ${workspace.backend}`} />]),
            <>
              since <Ago ms={since} />
            </>,
            until === undefined ? "until revoked" : <>until {<When ms={until} text={later(until)} />}</>,
          ]}
        />
        <Problem text={action.failure.value} />
      </div>
      <ActionButton
        {...{ action, label: "Revoke", on: label }}
        work={() => post(`/api/grants/${part(id)}/revoke`).then(onRevoked)}
      />
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
