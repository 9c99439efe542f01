-- Orders that the same transaction claimed and does not take: nobody else has seen them. Their state stands in a parameter: planned for the word
-- itself, of which there is hardly a row, it would begin with all rows of the table.
DELETE FROM sales_order
USING unnest($1::text[], $2::text[]) AS spare (channel, order_ref)
WHERE sales_order.order_ref = spare.order_ref
    AND sales_order.channel = spare.channel
    AND sales_order.state = $3
