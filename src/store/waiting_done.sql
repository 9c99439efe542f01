DELETE FROM waiting_message WHERE id = ANY ($1::bigint[])
