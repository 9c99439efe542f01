//! Payments: started, succeeded, failed, refunded.

use super::Decode;
use super::fields::Object;
use super::order::money;
use crate::domain::{
    Channel, Kind, OrderKey, OrderRef, PaymentKey, PaymentReport, PaymentState, Provider, Refusal, Text,
};

/// What reads the body of `payment.<verb>.<provider>`.
pub(super) fn decoder(verb: &str) -> Option<Decode> {
    match PaymentState::from_word(verb)? {
        PaymentState::Started => Some(|provider, body| report(PaymentState::Started, provider, body)),
        PaymentState::Failed => Some(|provider, body| report(PaymentState::Failed, provider, body)),
        PaymentState::Succeeded => Some(|provider, body| report(PaymentState::Succeeded, provider, body)),
        PaymentState::Refunded => Some(|provider, body| report(PaymentState::Refunded, provider, body)),
    }
}

/// The provider of a subject `payment.<verb>.<provider>` that is expected; none for any other.
pub(super) fn provider(subject: &str) -> Option<&str> {
    let (verb, provider) = subject.strip_prefix("payment.")?.split_once('.')?;
    (PaymentState::from_word(verb).is_some() && Provider::new(provider).is_ok()).then_some(provider)
}

fn report(says: PaymentState, provider: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    body.judge_repeated_token("provider", provider)?;
    let payment_id = body.require("payment_id")?.name(Text::new)?;
    let channel = body.require("channel")?.name(Channel::new)?;
    let order_ref = body.require("order_ref")?.name(OrderRef::new)?;
    let amount = body.get("amount").map(money).transpose()?;
    let reason = match body.get("reason") {
        Some(field) => Some(field.words()?.into()),
        None => None,
    };
    Ok(Kind::Payment(PaymentReport {
        key: PaymentKey { provider: Provider::stored(provider), payment_id },
        order: OrderKey { channel, order_ref },
        says,
        amount,
        reason,
    }))
}
