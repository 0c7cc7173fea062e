/** The result of one check, as `handrail doctor --json` prints it. */
export interface Finding {
  readonly name: string;
  readonly required: boolean;
  readonly status: "ok" | "missing" | "broken";
  readonly detail: string;
  readonly fix?: string;
}
