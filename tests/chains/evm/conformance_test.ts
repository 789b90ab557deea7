import { conformance } from "../conformance.ts";
import { evmStage } from "./fixture.ts";

conformance("Ethereum", () => evmStage("ETHEREUM"));
conformance("Polygon", () => evmStage("POLYGON"));
conformance("Celo", () => evmStage("CELO", "main", "--celo"));
conformance("BSC", () => evmStage("BSC"));
conformance("Ethereum on a test network", () => evmStage("ETHEREUM", "testnet"));
