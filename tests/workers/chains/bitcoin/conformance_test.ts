import { conformance } from "../../../chains/conformance.ts";
import { hasLitecoind } from "../../../support/litecoind.ts";
import { litecoindStage } from "./stage.ts";

const ignore = !hasLitecoind();

conformance("Litecoin", () => litecoindStage("LITECOIN"), { ignore });
conformance("Bitcoin", () => litecoindStage("BITCOIN"), { ignore });
conformance("Dogecoin", () => litecoindStage("DOGECOIN"), { ignore });
