-- The rights of a realm's role, whole, restated after every migration of the realm. The role owns
-- nothing: it cannot change a table, and it cannot touch what is append-only.
grant usage on schema :schema to :role;
grant select, insert, update, delete on all tables in schema :schema to :role;
revoke update, delete, truncate on transactions, entries, audit, currency_issues, account_states, seals, ledger_events from :role;
grant update (seq, hash) on audit to :role;
revoke delete, truncate on blocks, stops, orders, order_candidates from :role;
revoke insert, update, delete, truncate on order_transitions from :role;
revoke insert, update, delete on migrations from :role;
grant execute on all functions in schema :schema to :role;
revoke update, delete, truncate on api_keys from :role;
grant update (last_used_at, updated_at, deleted_at) on api_keys to :role;
revoke update on logins from :role;
grant update (last_used_at, ended_at) on logins to :role;
