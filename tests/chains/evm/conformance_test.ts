import { conformance } from "../conformance.ts";
import { openEvmFixture } from "./fixture.ts";

conformance("Ethereum", () => openEvmFixture("ETHEREUM"));
conformance("Polygon", () => openEvmFixture("POLYGON"));
conformance("Celo", () => openEvmFixture("CELO", "main", "--celo"));
conformance("BSC", () => openEvmFixture("BSC"));
conformance("Ethereum on a test network", () => openEvmFixture("ETHEREUM", "testnet"));
