import type { Finding } from "../../finding.ts";
import { get } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { Safe } from "../text/safe.tsx";
import { Icon, type IconName } from "../view/icons.tsx";
import { Waiting } from "../view/waiting.tsx";

interface Look {
  readonly icon: IconName;
  readonly look: string;
  readonly word: string;
}

/** The results of `handrail doctor` on the server, and how to fix what fails. */
export function Doctor() {
  const loaded = useLoaded(async (signal) => {
    return (await get<{ readonly checks: readonly Finding[] }>("/api/doctor", signal)).checks;
  });
  const { value } = loaded.value;
  const [faults, fine] = [
    value?.filter(({ status }) => status !== "ok"),
    value?.filter(({ status }) => status === "ok"),
  ];
  return (
    <div class="sheet">
      <div class="tools flex">
        <p class="lead">{value === undefined ? "" : verdictOf(value)}</p>
        <span class="sp" />
        <button class="btn" disabled={loaded.isLoading.value} onClick={loaded.reload}>
          {loaded.isLoading.value ? "Checking" : "Check again"}
        </button>
      </div>
      <Waiting of={loaded} words="Checking this machine. It takes a few seconds." />
      {faults !== undefined && faults.length > 0 && <Findings title="To look at" findings={faults} />}
      {fine !== undefined && fine.length > 0 && <Findings title="Works" findings={fine} />}
    </div>
  );
}

function Findings({ title, findings }: { readonly title: string; readonly findings: readonly Finding[] }) {
  return (
    <section>
      <h2 class="head meta">
        {title} <span class="num">{findings.length}</span>
      </h2>
      <ul class={`rows ${title === "Works" ? "brief" : ""}`}>
        {findings.map((finding) => {
          const { icon, look, word } = lookOf(finding);
          return (
            <li key={finding.name} class="row" data-status={finding.status}>
              <Icon name={icon} class={look} />
              <div class="what">
                <p class="name">
                  <Safe in="b" text={finding.name} />
                  {finding.status === "ok" ? (
                    <span class="vh">{word}</span>
                  ) : (
                    <span class={`state ${look}`}>{word}</span>
                  )}
                </p>
                <Safe in="p" class="text free" text={finding.detail} />
                {finding.fix !== undefined && finding.status !== "ok" && (
                  <Safe in="p" class="fix free" text={finding.fix} />
                )}
              </div>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function lookOf({ status, required }: Finding): Look {
  if (status === "ok") return { icon: "check", look: "ok", word: "Works" };
  const word = status === "missing" ? "Missing" : "Broken";
  if (required) return { icon: "fail", look: "fail", word: `${word}, and needed` };
  return { icon: "ask", look: "wait", word: `${word}, optional` };
}

function verdictOf(findings: readonly Finding[]): string {
  const faults = findings.filter(({ status }) => status !== "ok");
  const needed = faults.filter(({ required }) => required).length;
  if (faults.length === 0) return "Everything works on this machine.";
  if (needed > 0) return `${needed} of ${findings.length} checks must be fixed before Handrail works here.`;
  return "Handrail works here. Everything else is optional.";
}
