/** Routes of blocks: opened, released, captured. @module */
import { z } from "zod";
import { answerable } from "../domain/answers.ts";
import {
  BlockList,
  BlockView,
  Capture,
  capture,
  createBlock,
  findBlock,
  listBlocks,
  NewBlock,
  releaseBlock,
  viewBlock,
} from "../domain/ledger/blocks.ts";
import { DryRun } from "../domain/entity.ts";
import { TransactionView } from "../domain/ledger/posting.ts";
import { pageOf } from "../domain/collections/list_parameters.ts";
import { pageView } from "./http/collection_routes.ts";
import { command, query, search } from "./http/execution.ts";
import { type AnyRoute, PAGES, route } from "./http/route.ts";

const OfAccount = z.strictObject({ id: z.string() });
const ById = z.strictObject({ id: z.string(), block: z.string() });
const TAG = "Blocks";

/** The routes of blocks. */
export const blockRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/accounts/{id}/blocks",
    tag: TAG,
    summary: "Block a part of the available value",
    description: "The value stays in the account and cannot be sent until the block is closed.",
    access: "user",
    params: OfAccount,
    query: DryRun,
    body: NewBlock,
    status: 201,
    makes: "/v1/accounts/{id}/blocks/{made}",
    answer: BlockView,
    errors: [
      "account.not_found",
      "permission.owner",
      "permission.role",
      "account.not_enabled",
      "account.inactive",
      "account.frozen",
      "balance.insufficient",
    ],
    handle: (call) =>
      command(call, async (tx) => {
        const input = { ...call.body, account: call.params.id };
        return viewBlock(await createBlock(tx, call.actor, input));
      }, { lockLedger: true, dryRun: call.query.dry_run }),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}/blocks",
    tag: TAG,
    summary: "List the blocks of an account",
    access: "user",
    params: OfAccount,
    query: BlockList,
    status: 200,
    answer: pageView(BlockView),
    continues: PAGES,
    errors: ["account.not_found"],
    handle: (call) =>
      search(call, async (db) => {
        const found = await listBlocks(db, call.actor, { ...call.query, account: call.params.id });
        return pageOf(found.page, answerable(found.rows.map(viewBlock)), found.total);
      }),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}/blocks/{block}",
    tag: TAG,
    summary: "Read a block",
    access: "user",
    params: ById,
    status: 200,
    answer: BlockView,
    errors: ["account.not_found", "block.not_found"],
    handle: (call) =>
      query(call, async (db) => viewBlock(await findBlock(db, call.actor, nameOf(call.params)))),
  }),
  route({
    method: "DELETE",
    path: "/v1/accounts/{id}/blocks/{block}",
    tag: TAG,
    operation: "releaseBlock",
    summary: "Release a block",
    access: "user",
    params: ById,
    status: 200,
    answer: BlockView,
    errors: [
      "account.not_found",
      "block.not_found",
      "block.closed",
      "permission.owner",
      "permission.role",
    ],
    handle: (call) =>
      command(
        call,
        async (tx) => viewBlock(await releaseBlock(tx, call.actor, nameOf(call.params))),
        { lockLedger: true },
      ),
  }),
  route({
    method: "POST",
    path: "/v1/accounts/{id}/blocks/{block}/capture",
    tag: TAG,
    summary: "Turn a block, or a part of it, into a transaction",
    description: "The rest of the block becomes available again. Answers with the transaction.",
    access: "user",
    params: ById,
    query: DryRun,
    body: Capture,
    status: 201,
    makes: "/v1/transactions/{made}",
    answer: TransactionView,
    errors: [
      "account.not_found",
      "alias.not_found",
      "address.not_found",
      "block.not_found",
      "block.closed",
      "permission.owner",
      "permission.role",
      "account.not_enabled",
      "account.inactive",
      "account.frozen",
      "account.asset_mismatch",
      "stop.active",
    ],
    handle: (call) =>
      command(
        call,
        (tx) => capture(tx, call.actor, { ...call.body, ...nameOf(call.params) }),
        { lockLedger: true, dryRun: call.query.dry_run },
      ),
  }),
];

function nameOf(params: { id: string; block: string }): { account: string; block: string } {
  return { account: params.id, block: params.block };
}
