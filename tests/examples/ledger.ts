/** Accounts, moves, blocks, aliases, currencies and rates. @module */
import type { World } from "./world.ts";

/** Walks through the ledger. */
export async function walkLedger(world: World): Promise<void> {
  await accounts(world);
  await moves(world);
  await blocks(world);
  await aliases(world);
  await currencies(world);
  await proofs(world);
}

async function accounts(world: World): Promise<void> {
  const { ask, browse, gold, realm, start, day } = world;
  const made = await ask("createAccount", {
    body: {
      type: "virtual",
      asset: gold.name,
      data: { customer: "4711" },
      reference: "INV-2026-17",
    },
  });
  const path = { id: made.id };
  await realm.drain();
  await ask("createTransaction", {
    body: {
      source: { account: gold.account },
      destination: { account: made.id },
      value: "25.5",
      reference: "order-1001",
      data: { note: "first purchase" },
    },
  });
  await browse({ many: "Accounts", one: "Account", id: made.id });
  await ask("findAccounts", { query: { ...day, format: "csv" }, as: "text/csv" });
  await ask("updateAccount", { path, body: { data: { customer: "4711", level: "gold" } } });
  const hour = 3_600_000;
  await ask("listAccountEntries", { path, query: { pageSize: 10 } });
  await ask("listAccountEntries", { path, query: { ...day, format: "csv" }, as: "text/csv" });
  await ask("getAccountBalance", { path, query: { at: start + hour } });
  await ask("getBalance", { path, query: { ...day, points: 2 } });
  await ask("getAccountStatement", { path, query: day });
  await ask("getAccountStatement", { path, query: { ...day, format: "csv" }, as: "text/csv" });
  const reason = { reason: "asked for by the customer" };
  await ask("freezeAccount", { path, body: reason });
  await ask("unfreezeAccount", { path, body: reason });
  const empty = await world.account();
  await ask("deactivateAccount", { path: { id: empty }, body: reason });
  await ask("activateAccount", { path: { id: empty }, body: reason });
  await ask("deleteAccount", { path: { id: empty } });
  await ask("undeleteAccount", { path: { id: empty } });
}

async function moves(world: World): Promise<void> {
  const { ask, gold, day } = world;
  const [shop, till] = [await world.account("100"), await world.account()];
  const one = { source: { account: shop }, destination: { account: till } };
  const moved = await ask("createTransaction", { body: { ...one, value: "1" }, aside: true });
  const path = { id: moved.id };
  const query = { query: JSON.stringify({ id: moved.id }) };
  await ask("listTransactions", { query });
  await ask("findTransactions", { query });
  await ask("findTransactions", { query: { ...day, format: "csv" }, as: "text/csv" });
  await ask("countTransactions", { query });
  await ask("getTransaction", { path });
  await ask("updateTransaction", { path, body: { data: { checked: true } } });
  await ask("revertTransaction", { path, body: { data: { reason: "wrong till" } } });
  const transactions = [{ ...one, value: "2" }, {
    source: { account: gold.account },
    destination: { account: till },
    value: "3",
  }];
  await ask("createTransactionBatch", { body: { atomic: true, transactions } });
  await ask("createTransactionBatch", {
    body: { atomic: false, transactions },
    status: 200,
    as: "200",
  });
}

async function blocks(world: World): Promise<void> {
  const { ask, start } = world;
  const [payer, seller] = [await world.account("100"), await world.account()];
  const path = { id: payer };
  const made = await ask("createBlock", {
    path,
    body: {
      amount: "40",
      reason: "order 1002",
      expires_at: start + 7 * 24 * 3_600_000,
      data: { cart: 12 },
    },
  });
  const one = { id: payer, block: made.id };
  await ask("listBlocks", { path, query: { status: "OPEN" } });
  await ask("getBlock", { path: one });
  await ask("captureBlock", {
    path: one,
    body: { destination: { account: seller }, amount: "30" },
  });
  const other = await ask("createBlock", { path, body: { amount: "5" }, aside: true });
  await ask("releaseBlock", { path: { id: payer, block: other.id } });
}

async function aliases(world: World): Promise<void> {
  const { ask, browse } = world;
  const account = await world.account();
  const made = await ask("createAlias", {
    body: { alias: "till-7", type: "account", account, data: { branch: "Vienna" } },
  });
  const path = { id: made.id };
  await browse({ many: "Aliases", one: "Alias", id: made.id });
  await ask("updateAlias", { path, body: { data: { branch: "Graz" } } });
  await ask("deleteAlias", { path });
  await ask("undeleteAlias", { path });
}

async function currencies(world: World): Promise<void> {
  const { ask, browse, gold, platformKey } = world;
  const path = { id: gold.id };
  await browse({ many: "Currencies", one: "Currency", id: gold.id });
  await ask("updateCurrency", { path, body: { rate: "76.25" } });
  await ask("issueCurrency", { path, body: { amount: "1000", data: { branch: "B" } } });
  await ask("destroyCurrency", { path, body: { amount: "250" } });
  const idle = await ask("createCurrency", { body: { name: "POINTS" }, aside: true });
  await ask("deleteCurrency", { path: { id: idle.id } });
  await ask("undeleteCurrency", { path: { id: idle.id } });
  const rate = { base: "XCON", currency: "USD", rate: "1.0825" };
  await ask("setRate", { key: platformKey, body: rate });
  await ask("listRates", { key: platformKey, query: { base: "XCON", currency: "USD" } });
}

async function proofs({ ask, deliverer }: World): Promise<void> {
  await deliverer.run();
  await ask("getChainHead", { settle: { seq: 264 } });
  await ask("verifyChain", { query: { from: "1", to: "3" }, settle: { "head.seq": 265 } });
  await ask("listChainLinks", { query: { after: 0, limit: 1 } });
}
