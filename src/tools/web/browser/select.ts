import type { Locator } from "playwright-core";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { pause } from "../../../core/util/abort.ts";
import { clip } from "../../../core/util/text.ts";

/**
 * Playwright would wait ten seconds for the options.
 *
 * @throws ToolFailure if the element has no such options, or they are disabled, with those it has.
 */
export async function mustHaveOptions(element: Locator, values: readonly string[], signal: AbortSignal): Promise<void> {
  for (const deadline = Date.now() + OPTIONS_MS; ; await pause(POLL_MS, signal)) {
    const options = await element.evaluate<readonly Option[] | undefined, undefined>(readOptions as never, undefined);
    if (options === undefined) {
      throw new ToolFailure("the element is not a list of options (select)", {
        hint: "Click it, and then click the option that appears.",
      });
    }
    const fault = optionFault(options, values);
    if (fault === undefined) return;
    if (Date.now() > deadline) throw new ToolFailure(fault);
  }
}

const POLL_MS = 100;
/** How long to look for an option that a page adds late, in milliseconds. */
const OPTIONS_MS = 1_000;

/** How much is shown of the options that there are, in UTF-16 units. */
const MOST_NAMED = 2_000;

interface Option {
  readonly label: string;
  readonly value: string;
  readonly isDisabled: boolean;
}

function optionFault(options: readonly Option[], values: readonly string[]): string | undefined {
  for (const value of values) {
    const found = options.find((each) => each.value === value || each.label === value.replaceAll(/\s+/g, " ").trim());
    const named = options.map(({ label, isDisabled }) => JSON.stringify(label) + (isDisabled ? " (disabled)" : ""));
    const all = clip(named.join(", ") || "none", MOST_NAMED);
    if (found === undefined) return `there is no option ${JSON.stringify(value)}. The options are ${all}`;
    if (found.isDisabled) return `the option ${JSON.stringify(value)} is disabled. The options are ${all}`;
  }
  return undefined;
}

/** The parts of a page's elements that are read. */
interface PageSelect {
  readonly tagName: string;
  readonly value: string;
  readonly disabled: boolean;
  readonly textContent: string;
  getAttribute(name: string): string | null;
  closest(selector: string): object | null;
  querySelectorAll(selector: string): ArrayLike<PageSelect>;
}

/** Runs in the page. */
function readOptions(element: PageSelect): readonly Option[] | undefined {
  if (element.tagName !== "SELECT") return undefined;
  return Array.from(element.querySelectorAll("option")).map((option) => {
    const label = (option.getAttribute("label") ?? option.textContent).replace(/\s+/g, " ").trim();
    const isDisabled = element.disabled || option.disabled || option.closest("optgroup[disabled]") !== null;
    return { label, value: option.value, isDisabled };
  });
}
