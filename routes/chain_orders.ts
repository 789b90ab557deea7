/** Routes of chain orders: what a ramp has to send, for administrators. @module */
import { z } from "zod";
import { listOrders, OrderList, ORDERS_USUAL, OrderView } from "../domain/sending/order_views.ts";
import { search } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

/** The routes of chain orders. */
export const chainOrderRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/accounts/{id}/orders",
    tag: "Operations",
    operation: "listRampOrders",
    summary: "List the open orders of a ramp: what it has to send, or waits to see mined",
    description: "For administrators of the realm, by id, oldest first. Withdrawals that a batch " +
      "pays are listed as their batch.",
    access: "user",
    params: z.strictObject({ id: z.string() }),
    query: OrderList,
    status: 200,
    answer: z.array(OrderView),
    continues: { cursor: "id", usual: ORDERS_USUAL },
    errors: ["permission.role", "permission.scope", "ramp.not_found"],
    handle: (call) => {
      const asked = { ...call.query, ramp: call.params.id };
      return search(call, (db) => listOrders(db, call.actor, asked), false, ORDERS_USUAL);
    },
  }),
];
