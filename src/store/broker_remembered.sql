SELECT name, made_at, last_seq, epoch FROM broker_object
