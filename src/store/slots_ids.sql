-- As many new ids as there are new slots, in one go.
SELECT array_agg(nextval('slot_hold_id_seq')) FROM generate_series(1, $1)
