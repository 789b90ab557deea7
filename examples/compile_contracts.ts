/**
 * Compiles Solidity sources to the artefacts beside them. Run after a change of a source:
 *
 *     deno run -A --config tests/deno.json examples/compile_contracts.ts workers/chains/evm/token/Token.sol
 *
 * The artefact names compiler, library and settings, and holds the SHA-256 of its source. The same
 * inputs give the same bytes, so a rebuild shows no difference.
 * @module
 */
import ozPackage from "@openzeppelin/contracts/package.json" with { type: "json" };
import solc from "solc";

/** The artefact of one contract. */
export interface Artefact {
  /** Inputs of the build, so that it can be repeated. */
  readonly built: {
    readonly command: string;
    readonly compiler: string;
    readonly library: string;
    readonly settings: unknown;
    readonly sourceSha256: string;
  };
  /** Deployment bytecode by contract, hexadecimal with 0x. */
  readonly bytecode: Readonly<Record<string, string>>;
}

interface SolcOutput {
  errors?: { severity: string; formattedMessage: string }[];
  contracts: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>;
}

// Paris has no opcode that any of the supported chains lacks.
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: "paris",
  metadata: { bytecodeHash: "none" },
};
const LIBRARY = "@openzeppelin/contracts/";

/** Compiles one source file. */
export async function compile(path: string): Promise<Artefact> {
  const source = await Deno.readTextFile(path);
  const name = path.split("/").at(-1)!;
  const root = new URL(
    "./",
    import.meta.resolve("@openzeppelin/contracts/package.json"),
  );
  const input = {
    language: "Solidity",
    sources: { [name]: { content: source } },
    settings: {
      ...SETTINGS,
      outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
    },
  };
  const read = (file: string) => ({
    contents: Deno.readTextFileSync(new URL(file.replace(LIBRARY, ""), root)),
  });
  const output: SolcOutput = JSON.parse(solc.compile(JSON.stringify(input), { import: read }));
  const faults = output.errors?.filter((error) => error.severity === "error") ?? [];
  if (faults.length > 0) throw new Error(faults.map((fault) => fault.formattedMessage).join("\n"));
  const contracts = Object.entries(output.contracts[name]);
  return {
    built: {
      command: `deno run -A --config tests/deno.json examples/compile_contracts.ts ${path}`,
      compiler: solc.version(),
      library: `${LIBRARY.slice(0, -1)}@${ozPackage.version}`,
      settings: SETTINGS,
      sourceSha256: await sha256(source),
    },
    bytecode: Object.fromEntries(
      contracts.filter(([, contract]) => contract.evm.bytecode.object !== "")
        .map(([contract, { evm }]) => [contract, `0x${evm.bytecode.object}`]),
    ),
  };
}

/** Digests a source as the artefact records it. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

if (import.meta.main) {
  for (const path of Deno.args) {
    const artefact = await compile(path);
    const target = path.replace(/\.sol$/, ".json");
    await Deno.writeTextFile(target, JSON.stringify(artefact, null, 2) + "\n");
    console.log(`${target}: ${Object.keys(artefact.bytecode).join(", ")}`);
  }
  Deno.exit(0); // solc leaves a handle open
}
