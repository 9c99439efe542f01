-- Nothing is sent for a while: a minute at first, twice as long each time, up to an hour.
UPDATE publish_channel
SET halted_reason = $2, halts = halts + 1,
    halted_until = clock_timestamp() + least(interval '1 hour', interval '1 minute' * power(2, least(halts, 6)))
WHERE channel = $1
