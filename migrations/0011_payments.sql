-- Payments, what gateways said of them, and the refunds that orders require.
--
-- A payment belongs to one order and changes only under its order's lock. Its id is unique over all orders of a provider: two orders that name
-- one id meet at this key, where the later insert waits for the earlier commit and then finds the row. The order is looked up for a payment, a
-- cancel, an explanation. No foreign keys, as on orders: the audit is the guard. What a gateway said stands here for ever: it is the business key
-- of a report and the event of a refund, long after the inbox has forgotten both.

CREATE TABLE payment (
    provider        text        COLLATE "C" NOT NULL,
    payment_id      text        COLLATE "C" NOT NULL,
    channel         text        COLLATE "C" NOT NULL,
    order_ref       text        COLLATE "C" NOT NULL,
    -- Only rises: started < failed < succeeded < refunded.
    state           text        NOT NULL,
    amount          bigint,
    currency        text,
    -- What refunds add up to, in the payment's currency.
    refunded_amount bigint      NOT NULL DEFAULT 0,
    -- Whether the order is paid by this payment.
    pays            boolean     NOT NULL DEFAULT false,
    updated_at      timestamptz NOT NULL,
    -- The id leads: it differs at once, the provider hardly ever.
    PRIMARY KEY (payment_id, provider),
    CONSTRAINT payment_state CHECK (state IN ('started', 'failed', 'succeeded', 'refunded')),
    CONSTRAINT payment_amount CHECK ((amount IS NULL) = (currency IS NULL) AND amount >= 0),
    CONSTRAINT payment_refunded_amount CHECK (refunded_amount >= 0),
    CONSTRAINT payment_pays_with_money CHECK (NOT pays OR state IN ('succeeded', 'refunded'))
);

CREATE INDEX payment_of_order ON payment (order_ref, channel);

-- The first report of each verb, and every refund.
CREATE TABLE payment_report (
    provider   text        COLLATE "C" NOT NULL,
    payment_id text        COLLATE "C" NOT NULL,
    verb       text        NOT NULL,
    event_id   text        COLLATE "C" NOT NULL,
    amount     bigint,
    currency   text,
    -- The gateway's words.
    reason     text,
    at         timestamptz NOT NULL,
    PRIMARY KEY (payment_id, provider, verb, event_id),
    CONSTRAINT payment_report_verb CHECK (verb IN ('started', 'failed', 'succeeded', 'refunded')),
    CONSTRAINT payment_report_amount CHECK ((amount IS NULL) = (currency IS NULL) AND amount >= 0)
);

-- Once per payment and cause: for one reason, and for one partial cancel after the other.
CREATE TABLE refund_required (
    provider   text        COLLATE "C" NOT NULL,
    payment_id text        COLLATE "C" NOT NULL,
    reason     text        NOT NULL,
    -- The event that caused it: the payment that came too late, or the cancel.
    event_id   text        COLLATE "C" NOT NULL,
    -- What is to be given back; none where it cannot be known.
    amount     bigint,
    currency   text,
    at         timestamptz NOT NULL,
    settled_at timestamptz,
    PRIMARY KEY (payment_id, provider, reason, event_id),
    CONSTRAINT refund_required_reason CHECK (
        reason IN ('expired_and_sold_out', 'cancelled', 'partially_cancelled', 'order_rejected', 'already_paid')
    ),
    CONSTRAINT refund_required_amount CHECK ((amount IS NULL) = (currency IS NULL) AND amount >= 0)
);
