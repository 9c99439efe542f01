-- As many new ids as there are new lines, in one go.
SELECT array_agg(nextval('reservation_id_seq')) FROM generate_series(1, $1)
