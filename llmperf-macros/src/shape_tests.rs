//! Return types, and what they are taken for.

use quote::ToTokens as _;
use syn::Signature;

use super::*;

fn read(signature: &str, stream: Option<Stream>) -> Result<String> {
    shape(signature, stream).map(|shape| shown(&shape))
}

fn shape(signature: &str, stream: Option<Stream>) -> Result<Shape> {
    let signature: Signature = syn::parse_str(&format!("fn f{signature}")).expect(signature);
    Reading { stream, generics: &signature.generics }.shape(&signature.output)
}

fn shown(shape: &Shape) -> String {
    let written = |written: &Option<Type>| written.to_token_stream().to_string().replace(' ', "");
    match shape {
        Shape::Value => "value".into(),
        Shape::Never => "never".into(),
        Shape::Stream { item, boxing, .. } => format!("{boxing:?} stream of {}", written(item)),
        Shape::Future { output, output_type, boxing, .. } => {
            format!("{boxing:?} future of {}: {}", written(output_type), shown(output))
        }
        Shape::InResult(inner) => format!("Result<{}>", shown(inner)),
        Shape::InOption(inner) => format!("Option<{}>", shown(inner)),
    }
}

#[test]
fn values_are_values() {
    for plain in
        ["()", "() -> u32", "() -> Vec<&'static str>", "() -> (A, B)", "() -> impl Display", "() -> Box<dyn Error>"]
    {
        assert_eq!(read(plain, None).unwrap(), "value", "{plain}");
    }
    assert_eq!(read("() -> !", None).unwrap(), "never");
    for held in ["() -> Result<A, B>", "() -> std::io::Result<A>", "() -> Result<Option<A>, B>", "() -> crate::Result"]
    {
        assert_eq!(read(held, None).unwrap(), "value", "{held}");
    }
    assert_eq!(read("() -> Option<&T>", None).unwrap(), "value");
}

#[test]
fn streams_are_recognised_in_every_form() {
    for (written, boxing) in [
        ("impl Stream<Item = A>", "Not"),
        ("impl futures::Stream<Item = A> + Send + 'a", "Not"),
        ("(impl FusedStream<Item = A> + Unpin)", "Not"),
        ("Pin<Box<dyn Stream<Item = A> + Send + 'a>>", "Pinned"),
        ("std::pin::Pin<std::boxed::Box<dyn ::futures::Stream<Item = A>>>", "Pinned"),
        ("Pin<Box<impl Stream<Item = A>>>", "Pinned"),
        ("Box<dyn Stream<Item = A> + Unpin>", "Plain"),
        ("BoxStream<'a, A>", "Pinned"),
        ("futures::stream::LocalBoxStream<'_, A>", "Pinned"),
    ] {
        let expected = format!("{boxing} stream of A");
        assert_eq!(read(&format!("() -> {written}"), None).unwrap(), expected, "{written}");
        let held = read(&format!("() -> app::AppResult<{written}>"), None).unwrap();
        assert_eq!(held, format!("Result<{expected}>"), "{written}");
        let held = read(&format!("() -> Result<{written}, E>"), None).unwrap();
        assert_eq!(held, format!("Result<{expected}>"), "{written}");
        let held = read(&format!("() -> Option<Result<{written}, E>>"), None).unwrap();
        assert_eq!(held, format!("Option<Result<{expected}>>"), "{written}");
    }
    let tried = read("() -> impl TryStream<Ok = A, Error = B>", None).unwrap();
    assert_eq!(tried, "Not stream of ::core::result::Result<A,B>");
    assert_eq!(read("() -> impl Stream", None).unwrap(), "Not stream of ");
}

#[test]
fn futures_are_recognised_with_what_they_give() {
    assert_eq!(read("() -> impl Future<Output = A> + Send", None).unwrap(), "Not future of A: value");
    assert_eq!(read("() -> Pin<Box<dyn Future<Output = A>>>", None).unwrap(), "Pinned future of A: value");
    let fallible = read("() -> BoxFuture<'a, Result<A, E>>", None).unwrap();
    assert_eq!(fallible, "Pinned future of Result<A,E>: value");
    let streaming = shape("() -> Pin<Box<dyn Future<Output = Result<BoxStream<'a, A>, E>> + Send>>", None).unwrap();
    assert_eq!(shown(&streaming), "Pinned future of Result<BoxStream<'a,A>,E>: Result<Pinned stream of A>");
    assert!(streaming.is_awaited() && streaming.is_streamed());
    assert!(shape("() -> Result<impl Future<Output = A>, E>", None).unwrap().is_awaited());
}

#[test]
fn an_alias_is_a_boxed_stream_if_it_is_said() {
    let boxed = "Pinned stream of ";
    assert_eq!(read("() -> Answer", Some(Stream::Boxed)).unwrap(), boxed);
    assert_eq!(read("() -> Result<Answer, E>", Some(Stream::Boxed)).unwrap(), format!("Result<{boxed}>"));
    let awaited = read("() -> Pin<Box<dyn Future<Output = Option<Answer>>>>", Some(Stream::Boxed)).unwrap();
    assert_eq!(awaited, format!("Pinned future of Option<Answer>: Option<{boxed}>"));
}

#[test]
fn what_cannot_be_wrapped_is_refused() {
    for signature in [
        "() -> ReceiverStream<A>",
        "() -> Result<mpsc::Receiver<A>, E>",
        "<S: Stream>(s: S) -> S",
        "<S>(s: S) -> Option<S> where S: Future",
        "() -> MyFuture",
    ] {
        let error = shape(signature, None).err().expect(signature);
        assert!(error.to_string().contains("of a type of its own cannot be measured"), "{signature}: {error}");
        assert!(shape(signature, Some(Stream::None)).is_ok(), "{signature}");
    }
    assert!(shape("() -> (u32, BoxStream<'a, A>)", None).is_err());
    assert!(shape("() -> Vec<impl Future<Output = A>>", None).is_err());
    assert!(shape("() -> impl FusedFuture<Output = A>", None).is_err());
    assert!(shape("() -> impl Future<Output = BoxFuture<'a, A>>", None).is_err());
}

#[test]
fn connections_and_what_is_said_to_be_no_stream_are_values() {
    assert_eq!(read("() -> io::Result<TcpStream>", None).unwrap(), "value");
    assert_eq!(read("() -> BitStream", Some(Stream::None)).unwrap(), "value");
    assert_eq!(read("() -> Vec<BoxStream<'a, A>>", Some(Stream::None)).unwrap(), "value");
    assert_eq!(read("() -> BoxStream<'a, A>", Some(Stream::None)).unwrap(), "value");
    assert_eq!(read("() -> Box<dyn Fn(&str) -> BoxFuture<'static, A>>", None).unwrap(), "value");
}

#[test]
fn impl_becomes_an_underscore_wherever_it_stands() {
    let erased =
        |text: &str| without_impl(&syn::parse_str(text).unwrap()).to_token_stream().to_string().replace(' ', "");
    assert_eq!(erased("impl Stream<Item = A>"), "_");
    assert_eq!(erased("Result<impl Stream<Item = A>, E>"), "Result<_,E>");
    assert_eq!(erased("(A, &'a [impl B])"), "(A,&'a[_])");
    assert_eq!(erased("Pin<Box<dyn Future<Output = impl A>>>"), "Pin<Box<dynFuture<Output=_>>>");
}
