//! Values that are asked whether they are streams, and are none: every type compiles.

use std::{cell::Cell, fmt::Debug, io, rc::Rc};

use crate::support::measured;

#[llmperf::step]
fn generic<T>(value: T) -> T {
    value
}

#[llmperf::step]
fn held<T, E>(value: Result<Option<T>, E>) -> Result<Option<T>, E> {
    value
}

#[llmperf::step]
fn lent<'a, T: ?Sized>(value: &'a T) -> &'a T {
    value
}

#[llmperf::step]
fn lent_to_change(value: &mut [u8]) -> Option<&mut u8> {
    value.first_mut()
}

#[llmperf::step]
fn of_one_thread(value: Rc<Cell<u8>>) -> Result<Rc<Cell<u8>>, Box<dyn std::error::Error>> {
    Ok(value)
}

#[llmperf::step]
fn opaque(value: u8) -> impl Debug + use<> {
    [Some(value), None]
}

#[llmperf::step]
fn iterated(count: u8) -> Box<dyn Iterator<Item = u8>> {
    Box::new(0..count)
}

#[llmperf::step]
async fn awaited(value: impl Debug) -> io::Result<impl Debug> {
    Ok(value)
}

#[llmperf::step(stream = none)]
fn said_to_be_none() -> futures::stream::Empty<u8> {
    futures::stream::empty()
}

#[test]
fn values_of_every_type_pass() {
    let debug = |value: &dyn Debug| format!("{value:?}");
    assert_eq!(measured(|| generic(Rc::new(1))).0, Rc::new(1));
    assert_eq!(measured(|| held::<_, ()>(Ok(Some("a")))).0, Ok(Some("a")));
    assert_eq!(measured(|| lent("a").to_owned()).0, "a");
    assert_eq!(measured(|| debug(lent::<dyn Debug>(&1))).0, "1");
    assert_eq!(measured(|| lent_to_change(&mut [1]).copied()).0, Some(1));
    assert_eq!(measured(|| of_one_thread(Rc::new(Cell::new(1))).unwrap().get()).0, 1);
    assert_eq!(measured(|| debug(&opaque(1))).0, "[Some(1), None]");
    assert_eq!(measured(|| iterated(3).count()).0, 3);
    assert_eq!(debug(&crate::support::awaited(|| awaited(1)).0.unwrap()), "1");
    assert_eq!(measured(|| debug(&said_to_be_none())).0, debug(&futures::stream::empty::<u8>()));
}
