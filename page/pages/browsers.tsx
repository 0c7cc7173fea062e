import type { BrowserSession } from "../../src/serve/browser-sessions.ts";
import { useSignal } from "@preact/signals";
import { type Action, useAction } from "../state/action.ts";
import { get, part, post } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { isConnected, now } from "../state/model.ts";
import { Safe } from "../text/safe.tsx";
import { ActionButton, Facts, Problem } from "../view/row.tsx";
import { Waiting } from "../view/waiting.tsx";
import { Ago } from "../view/when.tsx";

/** `isCaller`: true for the browser that shows this page. */
type Session = BrowserSession & { readonly isCaller: boolean };

interface Pairing {
  readonly url: string;
  readonly untilMs: number;
}

/** The browsers and phones that may use the console, a button to end each session, and the pairing of a phone. */
export function Browsers() {
  const loaded = useLoaded((signal) => get<{ readonly sessions: readonly Session[] }>("/api/sessions", signal));
  const action = useAction();
  return (
    <div class="sheet">
      <p class="lead">
        Browsers and phones that may watch, answer and stop calls here. One that you revoke is signed out at once.
      </p>
      <Pair action={action} />
      <Problem text={action.failure.value} />
      <Waiting of={loaded} words="Loading browsers" />
      <ul class="rows">
        {loaded.value.value?.sessions.toReversed().map((session) => (
          <SessionRow key={session.id} session={session} onRevoked={loaded.reload} />
        ))}
      </ul>
    </div>
  );
}

interface RowProps {
  readonly session: Session;
  readonly onRevoked: () => void;
}

function SessionRow({ session, onRevoked }: RowProps) {
  const { id, kind, name, createdMs, usedMs, address, isCaller } = session;
  const action = useAction();
  return (
    <li class="row">
      <div class="what">
        <Safe in="b" text={name} />
        <Facts
          of={[
            isCaller ? `this ${kind}` : kind,
            <>
              since <Ago ms={createdMs} />
            </>,
            <>
              last used <Ago ms={usedMs} /> from <Safe text={address} />
            </>,
          ]}
        />
        <Problem text={action.failure.value} />
      </div>
      <ActionButton
        {...{ action, label: "Revoke", on: name }}
        work={() => post(`/api/sessions/${part(id)}/revoke`).then(onRevoked)}
      />
    </li>
  );
}

function Pair({ action }: { readonly action: Action }) {
  const pairing = useSignal<(Pairing & { readonly code: readonly (readonly boolean[])[] }) | undefined>(undefined);
  const pair = () =>
    action.attempt(async () => {
      const [made, { encode }] = await Promise.all([post<Pairing>("/api/pairings"), import("uqr")]);
      pairing.value = { ...made, code: encode(made.url, { border: 2 }).data };
    });
  const shown = pairing.value !== undefined && pairing.value.untilMs > now.value ? pairing.value : undefined;
  return (
    <div class="pairing">
      <button class="btn" disabled={!isConnected.value} onClick={() => void pair()}>
        Pair a phone
      </button>
      {shown !== undefined && (
        <figure>
          <svg
            viewBox={`0 0 ${shown.code.length} ${shown.code.length}`}
            shape-rendering="crispEdges"
            role="img"
            aria-label="QR code of the link"
          >
            <path
              d={shown.code
                .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
                .join("")}
            />
          </svg>
          <figcaption class="free">
            Open it with the phone within five minutes. It works once: <code class="free">{shown.url}</code>
          </figcaption>
        </figure>
      )}
    </div>
  );
}
