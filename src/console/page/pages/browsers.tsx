import { type Signal, useSignal } from "@preact/signals";
import { get, part, post } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { isConnected, now } from "../state/model.ts";
import { Safe, safeText } from "../text/safe.tsx";
import { ago } from "../text/times.ts";
import { Waiting } from "../view/waiting.tsx";
import { When } from "../view/when.tsx";

interface Session {
  readonly id: string;
  readonly kind: "browser" | "phone";
  readonly name: string;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly address: string;
  /** True for the browser that shows this page. */
  readonly isCaller: boolean;
}

interface Pairing {
  readonly url: string;
  readonly untilMs: number;
}

/** The browsers and phones that may use the console, a button to end each session, and the pairing of a phone. */
export function Browsers() {
  const loaded = useLoaded((signal) => get<{ readonly sessions: readonly Session[] }>("/api/sessions", signal));
  const failure = useSignal("");
  return (
    <div class="sheet">
      <p class="lead">
        Browsers and phones that may watch, answer and stop calls here. One that you revoke is signed out at once.
      </p>
      <Pair failure={failure} />
      {failure.value !== "" && (
        <p class="problem" role="alert">
          {failure.value}
        </p>
      )}
      <Waiting of={loaded} words="Loading browsers" />
      <ul class="rows">
        {loaded.value.value?.sessions.toReversed().map((session) => (
          <SessionRow key={session.id} {...{ session, failure }} onRevoked={loaded.reload} />
        ))}
      </ul>
    </div>
  );
}

interface RowProps {
  readonly session: Session;
  readonly failure: Signal<string>;
  readonly onRevoked: () => void;
}

function SessionRow({ session, failure, onRevoked }: RowProps) {
  const { id, kind, name, createdMs, usedMs, address, isCaller } = session;
  const isBusy = useSignal(false);
  const revoke = async () => {
    isBusy.value = true;
    await attempt(failure, () => post(`/api/sessions/${part(id)}/revoke`));
    isBusy.value = false;
    onRevoked();
  };
  return (
    <li class="row">
      <div class="what">
        <b>
          <Safe text={name} />
        </b>
        <p class="facts-line meta num">
          <span>{isCaller ? `this ${kind}` : kind}</span>
          <span>
            since <When ms={createdMs} text={ago(createdMs, now.value)} />
          </span>
          <span>
            last used <When ms={usedMs} text={ago(usedMs, now.value)} /> from <Safe text={address} />
          </span>
        </p>
      </div>
      <button
        class="btn"
        disabled={isBusy.value || !isConnected.value}
        aria-label={`Revoke ${safeText(name)}`}
        onClick={() => void revoke()}
      >
        Revoke
      </button>
    </li>
  );
}

function Pair({ failure }: { readonly failure: Signal<string> }) {
  const pairing = useSignal<(Pairing & { readonly code: readonly (readonly boolean[])[] }) | undefined>(undefined);
  const pair = () =>
    attempt(failure, async () => {
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

/** Runs an action, and shows why it failed. */
async function attempt(failure: Signal<string>, action: () => Promise<unknown>): Promise<void> {
  try {
    failure.value = "";
    await action();
  } catch (error) {
    failure.value = error instanceof Error ? error.message : String(error);
  }
}
