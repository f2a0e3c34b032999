//! Methods, by every receiver.

use std::{pin::Pin, sync::Arc};

use crate::support::{BoxError, awaited, measured};

#[derive(Debug, Default)]
struct Desk<T = u32> {
    count: u32,
    words: Vec<String>,
    item: T,
    inner: Option<Box<Self>>,
}

impl<T: Clone> Desk<T> {
    #[llmperf::step]
    fn associated(item: T) -> Self {
        Self { count: 0, words: vec!["a".into()], item, inner: None }
    }

    #[llmperf::step]
    fn by_reference(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    #[llmperf::tool]
    fn by_mutable_reference(&mut self) -> &mut u32 {
        self.count += 1;
        &mut self.count
    }

    #[llmperf::tool]
    fn by_value(mut self) -> (T, u32) {
        self.count += 1;
        (self.item, self.count)
    }

    #[llmperf::tool]
    fn by_box(self: Box<Self>) -> T {
        self.item
    }

    #[llmperf::agent(name = self.words[0])]
    async fn by_arc(self: Arc<Self>) -> u32 {
        self.count
    }

    #[llmperf::tool]
    async fn by_pin(self: Pin<&mut Self>) -> T {
        self.item.clone()
    }

    #[llmperf::step]
    async fn awaited_mutably(&mut self) -> Result<&mut u32, BoxError> {
        let more = "1".parse::<u32>()?;
        self.count += more;
        Ok(&mut self.count)
    }

    #[llmperf::step]
    fn recursive(&mut self) -> u32 {
        match &mut self.inner {
            Some(inner) => inner.recursive() + 1,
            None => *self.by_mutable_reference(),
        }
    }
}

#[test]
fn methods_by_every_receiver() {
    assert_eq!(measured(|| Desk::associated(1).item).1, "step associated\n");
    let mut desk = Desk::associated(7);
    assert_eq!(measured(|| desk.by_reference().to_owned()), ("a".into(), "step by_reference\n".into()));
    assert_eq!(measured(|| *desk.by_mutable_reference()), (1, "execute_tool by_mutable_reference\n".into()));
    assert_eq!(awaited(|| Pin::new(&mut desk).by_pin()), (7, "execute_tool by_pin\n".into()));
    assert_eq!(awaited(|| async { *desk.awaited_mutably().await.unwrap() }), (2, "step awaited_mutably\n".into()));
    assert_eq!(measured(|| desk.by_value()), ((7, 3), "execute_tool by_value\n".into()));
    assert_eq!(measured(|| Box::new(Desk::associated("x")).by_box()).0, "x");
    let shared = Arc::new(Desk::associated(7));
    assert_eq!(awaited(|| shared.by_arc()), (0, "invoke_agent a\n".into()));
}

#[test]
fn a_method_that_calls_itself_on_a_part_of_it() {
    let mut desk: Desk = Desk { inner: Some(Box::default()), ..Desk::default() };
    let tree = "step recursive\n  step recursive\n    execute_tool by_mutable_reference\n";
    assert_eq!(measured(|| desk.recursive()), (2, tree.into()));
}
