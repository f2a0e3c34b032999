//! Streams whose names say nothing: their types do.

use futures::stream::{self, Empty, Iter, Once};

type Answer = Iter<std::vec::IntoIter<String>>;

#[llmperf::generation]
fn alias() -> Answer {
    stream::iter(vec![])
}

#[llmperf::step]
async fn in_a_result() -> Result<Once<std::future::Ready<u8>>, std::io::Error> {
    Ok(stream::once(std::future::ready(1)))
}

#[llmperf::step]
fn in_two(none: bool) -> Result<Option<Empty<u8>>, std::io::Error> {
    Ok((!none).then(stream::empty))
}

#[llmperf::step]
fn future() -> impl Future<Output = Empty<u8>> {
    std::future::ready(stream::empty())
}

fn main() {}
