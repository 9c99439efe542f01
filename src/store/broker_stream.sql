SELECT last_seq, epoch FROM broker_object WHERE name = $1
