import { temporaryFolder } from "../../support/workspace.ts";
import { scheduleCases } from "./schedule-cases.ts";

scheduleCases(async () => ({ file: `${temporaryFolder()}/schedule.db` }));
