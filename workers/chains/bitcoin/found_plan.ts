/**
 * Plans of signed transactions that were made elsewhere, out of their bytes and the amounts of their coins:
 * whoever replaces them spends the same coins for the same payments.
 * @module
 */
import type { Plan, SendRequest, Signed } from "../outgoing.ts";
import type { CoinChain } from "./context.ts";
import type { Body } from "./payment.ts";
import { inspectRaw } from "./sign.ts";
import { vsizeOf } from "./size.ts";
import { areSigned } from "./spend_proof.ts";

/**
 * Reads the plan of signed bytes; null where an amount is unknown, they pay nobody else, or our key has not signed
 * them: they name the key, and anybody could have written that.
 */
export async function planOfSigned(
  chain: CoinChain,
  signed: Signed,
  { all }: { all: boolean },
): Promise<Plan | null> {
  const { table } = chain;
  const { raw, body: known } = signed;
  if (!table.replaceable || known === undefined) return null;
  const { source, inputs: coins }: Pick<Body, "source" | "inputs"> = JSON.parse(known);
  const amounts = new Map(coins.map(({ input, amount }) => [input, amount]));
  const seen = await inspectRaw(chain, raw);
  const [from] = seen.from;
  const gone = seen.payments.filter(({ to }) => to !== from);
  const kept = seen.payments.filter(({ to }) => to === from);
  const spent = seen.inputs.map((input) => ({ input, amount: amounts.get(input), parent: null }));
  const unknown = spent.some(({ amount }) => amount === undefined);
  const isOurs = seen.payments.every(({ to }) => !to.startsWith("script:"));
  if (!isOurs || seen.from.length !== 1 || unknown || gone.length === 0 || kept.length > 1) {
    return null;
  }
  const held = spent.map(({ input, amount }) => ({ input, amount: BigInt(amount!), source }));
  if (!areSigned(chain, signed, held)) return null;
  const scripts = await Promise.all(gone.map(({ to }) => chain.scripts.script(to)));
  const outputs = [...scripts, ...kept.map(() => source)];
  const paid = [...gone, ...kept].map(({ amount }) => amount);
  const sum = (units: readonly bigint[]) => units.reduce((one, other) => one + other, 0n);
  const whole = all && kept.length === 0 && gone.length === 1;
  const order: SendRequest = {
    ...{ kind: "pay", from, contract: null },
    payments: gone.map(({ to, amount }) => ({ to, amount: whole ? "all" as const : amount })),
  };
  const body: Body = {
    source,
    inputs: spent.map((one) => ({ ...one, amount: one.amount! })),
    outputs: outputs.map((script, at) => ({ script, amount: `${paid[at]}` })),
  };
  return {
    order,
    inputs: seen.inputs,
    signers: [from],
    amounts: gone.map(({ amount }) => amount),
    outputs: gone.map((_, at) => at),
    change: kept.length === 0 ? null : { to: from, amount: kept[0].amount, index: gone.length },
    fee: sum(spent.map(({ amount }) => BigInt(amount!))) - sum(paid),
    feeContract: null,
    vsize: vsizeOf(table, spent.length, outputs),
    creates: null,
    body: JSON.stringify(body),
  };
}
