-- What a rejected order could not have, and how the rows stood at that moment, so that somebody can be told who had the units.
--
-- A column and not a table: a rejected order's row is written again anyway, so that neither it nor an order that is held costs a statement or
-- an index entry more. It is the last denial; that of an order which was held in the end stays.
--
-- { "event_id", "at", "reason", "rows": [{ "sku", "warehouse", "requested", "on_hand", "reserved", "steps" }], "slots": [{ "resource",
-- "from", "to", "channel", "order_ref", "has_from", "has_to", "steps" }] }: `steps` is how many steps of the batch had changed that row's `reserved`, or
-- that slot, before; all of a batch bear the instant `at`. Not jsonb: a sold-out rush writes one for every order, and hardly one is ever read.

ALTER TABLE sales_order ADD COLUMN denial json;
