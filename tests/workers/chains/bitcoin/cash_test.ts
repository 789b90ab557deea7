import { conformance } from "../../../chains/conformance.ts";
import { startBcash } from "../../../support/bcash.ts";
import { coinStage } from "./stage.ts";

conformance("Bitcoin Cash", async () => await coinStage("BITCOIN_CASH", await startBcash()));
