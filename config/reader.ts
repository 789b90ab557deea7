/**
 * Reads settings one by one, records their names, and collects their faults.
 *
 * @module
 */

/** Reads variables one by one and collects their faults. */
export interface Reader {
  /** Faults, in the order in which they are found. */
  readonly faults: string[];
  /** The settings that were read. */
  readonly known: ReadonlySet<string>;
  /** A text without the blanks around it; null where there is none. */
  text(name: string): string | null;
  /** One of a list. */
  choice<const T extends string>(name: string, choices: readonly T[], otherwise: T): T;
  /** A whole number. */
  whole(name: string, min: number, max: number, otherwise: number): number;
  /** An address of one of the protocols. */
  url(name: string, protocols: readonly string[]): string | null;
}

/** Reads the settings of an environment. */
export function reader(env: Readonly<Record<string, string>>): Reader {
  const faults: string[] = [];
  const known = new Set<string>();
  const text = (name: string) => {
    known.add(name);
    return env[name]?.trim() || null;
  };
  return {
    faults,
    known,
    text,
    choice(name, choices, otherwise) {
      const given = text(name);
      const found = choices.find((choice) => choice === given?.toLowerCase());
      if (given !== null && found === undefined) {
        faults.push(
          `${name} is ${JSON.stringify(given)}; one of ${choices.join(", ")} is expected`,
        );
      }
      return found ?? otherwise;
    },
    whole(name, min, max, otherwise) {
      const given = text(name);
      if (given === null) return otherwise;
      const number = /^\d{1,10}$/.test(given) ? Number(given) : NaN;
      if (number >= min && number <= max) return number;
      faults.push(
        `${name} is ${JSON.stringify(given)}; a whole number from ${min} to ${max} is expected`,
      );
      return otherwise;
    },
    url(name, protocols) {
      const given = text(name);
      if (given === null) return null;
      if (URL.canParse(given) && protocols.includes(new URL(given).protocol)) return given;
      // The value itself may hold a password, so it is not shown.
      faults.push(`${name} is not an address that starts with ${protocols.join("// or ")}//`);
      return null;
    },
  };
}

/** Reads the parts between commas. */
export function listOf(text: string | null): string[] {
  return (text ?? "").split(",").map((part) => part.trim()).filter((part) => part !== "");
}
