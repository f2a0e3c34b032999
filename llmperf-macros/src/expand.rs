//! The code that an attribute writes: a builder, and one of its verbs around the body.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{Error, Expr, ExprLit, Ident, Lit, Result, ReturnType, Type, ext::IdentExt as _, parse::Parser as _};
use syn::{parse_quote, spanned::Spanned as _};

use crate::{
    args::{Args, Closure, Setter, Stream, Value},
    shape::{Boxing, Reading, Shape, without_impl},
    signature::Function,
    sort::Sort,
};

/// Code whose variables are of another place than the user's, so that no name of hers is one of ours.
macro_rules! ours {
    ($($tokens:tt)*) => {
        quote_spanned!(Span::mixed_site()=> $($tokens)*)
    };
}

/// From where an attribute was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    /// From its part.
    Part,
    /// From the facade.
    Facade,
}

/// The measured function; where something is wrong, a message and the function as it was.
pub(crate) fn expand(sort: Sort, from: From, args: TokenStream, item: &TokenStream) -> TokenStream {
    measured(sort, from, args, item).unwrap_or_else(|error| {
        let message = error.into_compile_error();
        ours!(#message #item)
    })
}

fn measured(sort: Sort, from: From, args: TokenStream, item: &TokenStream) -> Result<TokenStream> {
    let function: Function = syn::parse2(item.clone())?;
    let args = (|input: syn::parse::ParseStream<'_>| Args::parse(sort, input)).parse2(args)?;
    let signature = &function.signature;
    let shape = Reading { stream: args.stream, generics: &signature.generics }.shape(&signature.output)?;
    refuse(&args, &shape, &function)?;
    let part = part(sort, from, &args);
    let expansion = Expansion { sort, part, args: &args, function: &function };
    let body = expansion.body(&shape);
    let Function { attributes, visibility, default, signature, brace, inner_attributes, .. } = &function;
    let mut measured = ours!(#(#attributes)* #visibility #default #signature);
    brace.surround(&mut measured, |tokens| tokens.extend(ours!(#(#inner_attributes)* #body)));
    Ok(measured)
}

/// What arguments and return type only together show.
fn refuse(args: &Args, shape: &Shape, function: &Function) -> Result<()> {
    let at = |closure: &Closure, message| Err(Error::new(closure.argument.span(), message));
    if let Some(goal) = args.goal.as_ref().filter(|_| shape.is_streamed()) {
        return at(goal, "a goal is judged by a whole answer: this function gives a stream");
    }
    if let Some(first) = args.first_output.as_ref().filter(|_| !shape.is_streamed()) {
        return at(first, "`first_output` looks at the items of a stream: this function gives none");
    }
    if function.signature.asyncness.is_some() && shape.is_awaited() {
        let message = "an async function that gives a future cannot be measured: await the future, or make the function \
                       plain";
        let ReturnType::Type(_, given) = &function.signature.output else { return Ok(()) };
        return Err(Error::new_spanned(given, message));
    }
    Ok(())
}

/// The path of the part whose builders are used.
fn part(sort: Sort, from: From, args: &Args) -> TokenStream {
    let name = Ident::new(sort.part(), Span::mixed_site());
    match (from, &args.crate_path) {
        (From::Part, Some(path)) => path.to_token_stream(),
        (From::Facade, Some(path)) => ours!(#path::#name),
        (From::Part, None) => {
            let name = format_ident!("llmperf_{name}");
            ours!(::#name)
        }
        (From::Facade, None) => ours!(::llmperf::#name),
    }
}

struct Expansion<'a> {
    sort: Sort,
    part: TokenStream,
    args: &'a Args,
    function: &'a Function,
}

impl Expansion<'_> {
    fn body(&self, shape: &Shape) -> TokenStream {
        let Self { part, function, .. } = self;
        let work = self.work();
        let body = &function.body;
        let given = given(&function.signature.output, shape);
        if function.signature.asyncness.is_some() {
            let finish = self.finish(shape);
            // Tells the compiler the type of the block, which has no place for one: a return that never happens.
            let typed = ours!(if false { return #part::__private::never::<#given>(); });
            return never(
                shape,
                ours! {
                    let __llmperf_work = #work;
                    #part::__private::Work::run_then(
                        __llmperf_work,
                        async move { #typed #body },
                        move |__llmperf_guard, __llmperf_value| #finish,
                    ).await
                },
            );
        }
        if shape.is_awaited() {
            let begin = self.begin(shape);
            return ours! {
                let __llmperf_work = #work;
                let __llmperf_value = #part::__private::called(move || -> #given { #body });
                #begin
            };
        }
        let finish = self.finish(shape);
        never(
            shape,
            ours! {
                let __llmperf_work = #work;
                #part::__private::Work::in_scope(
                    __llmperf_work,
                    move || -> #given { #body },
                    move |__llmperf_guard, __llmperf_value| #finish,
                )
            },
        )
    }

    /// The builder with what it is told.
    fn work(&self) -> TokenStream {
        let Self { part, args, .. } = self;
        let builder = Ident::new(self.sort.builder(), Span::mixed_site());
        let name = self.sort.is_named().then(|| match &args.name {
            Some(name) => text(name),
            None => self.function.signature.ident.unraw().to_string().to_token_stream(),
        });
        let setters = args.setters.iter().map(|setter| self.setter(setter));
        ours!(#part::#builder(#name) #(#setters)*)
    }

    fn setter(&self, Setter { name, value }: &Setter) -> TokenStream {
        let part = &self.part;
        let set = |value: TokenStream| ours!(.#name(#value));
        match value {
            Value::Text(value) => set(text(value)),
            Value::Count(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) if number.suffix().is_empty() => {
                let number = syn::LitInt::new(&format!("{}u64", number.base10_digits()), number.span());
                set(number.to_token_stream())
            }
            Value::Count(value) => {
                let by_reference = by_reference(value);
                set(quote_spanned!(site(value)=> #part::__private::count(#by_reference)))
            }
            Value::Limit(value) => {
                let by_reference = by_reference(value);
                set(quote_spanned!(site(value)=> #part::__private::limit(#by_reference)))
            }
            Value::Borrowed(Expr::Tuple(tuple)) => {
                let elements = tuple.elems.iter().map(by_reference);
                set(quote_spanned!(site(tuple)=> &(#(#elements,)*)))
            }
            Value::Borrowed(value) => set(by_reference(value)),
            Value::Values(pairs) => {
                let calls = pairs.iter().map(|(key, value)| {
                    let value = wide(value);
                    let by_reference = by_reference(&value);
                    let value = quote_spanned!(site(&value)=> #part::__private::value(#by_reference));
                    ours!(.attribute(#key, #value))
                });
                ours!(#(#calls)*)
            }
            Value::Labels(pairs) => {
                let calls = pairs.iter().map(|(key, value)| {
                    let value = text(value);
                    ours!(.label(#key, #value))
                });
                ours!(#(#calls)*)
            }
        }
    }

    /// Begins the work with the future in a value, or at once where there is none.
    fn begin(&self, shape: &Shape) -> TokenStream {
        let part = &self.part;
        match shape {
            Shape::Future { output, output_type, boxing, written } => {
                let finish = self.finish(output);
                let typed = match (output_type, boxing) {
                    (Some(output), Boxing::Not) => {
                        let output = without_impl(output);
                        ours!(#part::__private::output_of::<#output, _>(__llmperf_value))
                    }
                    _ => ours!(__llmperf_value),
                };
                boxed(
                    *boxing,
                    written,
                    &ours! {
                        #part::__private::Work::run_then(
                            __llmperf_work,
                            #typed,
                            move |__llmperf_guard, __llmperf_value| #finish,
                        )
                    },
                )
            }
            Shape::InResult(inner) => {
                let (begin, failed) = (self.begin(inner), self.failed());
                in_result(
                    &begin,
                    &ours! {
                        let __llmperf_guard = #part::__private::Work::start(__llmperf_work);
                        #failed
                    },
                )
            }
            Shape::InOption(inner) => {
                let begin = self.begin(inner);
                in_option(&begin, &ours!(#part::__private::Work::start(__llmperf_work).complete();))
            }
            Shape::Value | Shape::Never | Shape::Stream { .. } => self.finish(shape),
        }
    }

    /// Ends the work with a value, or hands its guard to the stream in it.
    fn finish(&self, shape: &Shape) -> TokenStream {
        match shape {
            Shape::Value => self.value(&self.over()),
            Shape::Never => self.value(&TokenStream::new()),
            Shape::Stream { item, boxing, written } => self.stream(item.as_ref(), *boxing, written),
            Shape::InResult(inner) => {
                let (finish, failed) = (self.finish(inner), self.failed());
                in_result(&finish, &failed)
            }
            Shape::InOption(inner) => in_option(&self.finish(inner), &ours!(__llmperf_guard.complete();)),
            Shape::Future { .. } => self.begin(shape),
        }
    }

    /// Asks the type of a value whether it is a stream all the same, by whatever name.
    fn over(&self) -> TokenStream {
        let Self { part, args, function, .. } = self;
        let ReturnType::Type(_, written) = &function.signature.output else { return TokenStream::new() };
        if args.stream == Some(Stream::None) {
            return TokenStream::new();
        }
        let over = quote_spanned!(site(written)=> #part::__private::over(&__llmperf_lasting););
        ours! {
            let __llmperf_lasting = {
                use #part::__private::lasting::*;
                (&&&&#part::__private::Given(&__llmperf_value)).lasting()
            };
            #over
        }
    }

    fn value(&self, over: &TokenStream) -> TokenStream {
        let Self { part, args, .. } = self;
        let looks = [("answered", args.reads.as_ref()), ("goal", args.goal.as_ref())];
        let looks = looks.into_iter().filter_map(|(function, closure)| {
            let (function, code) = (Ident::new(function, Span::mixed_site()), &closure?.code);
            Some(ours! {
                let __llmperf_good = {
                    use #part::__private::good::*;
                    (&&#part::__private::Good(&__llmperf_value)).good()
                };
                if let ::core::option::Option::Some(__llmperf_good) = __llmperf_good {
                    #part::__private::#function(&mut __llmperf_guard, __llmperf_good, #code);
                }
            })
        });
        let verdict = self.judged(&ours!(Judged(&__llmperf_value)), &ours!(&mut __llmperf_guard));
        ours!({
            let mut __llmperf_guard = __llmperf_guard;
            #over
            #(#looks)*
            let __llmperf_verdict = #verdict;
            __llmperf_guard.end(__llmperf_verdict);
            __llmperf_value
        })
    }

    fn stream(&self, item: Option<&Type>, boxing: Boxing, written: &Type) -> TokenStream {
        let Self { part, args, .. } = self;
        let typed = item.filter(|_| boxing == Boxing::Not).map(|item| {
            let item = without_impl(item);
            ours!(let __llmperf_value = #part::__private::items_of::<#item, _>(__llmperf_value);)
        });
        let measured = (self.sort.is_call() && args.is_call()).then(|| {
            let stream = ours!(&mut __llmperf_guard, __llmperf_value);
            let measured = match args.reads.as_ref().map(|reads| &reads.code) {
                None => ours!(#part::__private::streamed_as_is(#stream)),
                Some(reads) => ours!({
                    use #part::__private::reading::*;
                    (&&#part::__private::items(&__llmperf_value)).streamed(#stream, #reads)
                }),
            };
            ours! {
                let mut __llmperf_guard = __llmperf_guard;
                let __llmperf_value = #measured;
            }
        });
        let item = match &args.first_output {
            None => {
                let judged = self.judged(&ours!(JudgedItem(__llmperf_item)), &ours!(__llmperf_guard));
                ours!(#part::__private::noted(#judged);)
            }
            // Judged as a value is, which marks nothing.
            Some(Closure { code, .. }) => {
                let judged = self.judged(&ours!(Judged(__llmperf_item)), &ours!(__llmperf_guard));
                ours! {
                    if ::core::option::Option::Some(__llmperf_item).is_some_and(#code) {
                        __llmperf_guard.output();
                    }
                    let __llmperf_verdict = #judged;
                    #part::__private::judged(__llmperf_guard, __llmperf_verdict);
                }
            }
        };
        let stream = boxed(
            boxing,
            written,
            &ours! {
                __llmperf_guard.stream(__llmperf_value, move |__llmperf_guard, __llmperf_item| {
                    #item
                })
            },
        );
        ours!({ #typed #measured #stream })
    }

    /// Ends the work with the error around a stream or a future.
    fn failed(&self) -> TokenStream {
        let verdict = self.judged(&ours!(JudgedError(&__llmperf_error)), &ours!(&mut __llmperf_guard));
        ours! {
            let mut __llmperf_guard = __llmperf_guard;
            let __llmperf_verdict = #verdict;
            __llmperf_guard.end(__llmperf_verdict);
        }
    }

    /// What the part says of something. Each `&` is a level of types that it knows more or less of.
    fn judged(&self, what: &TokenStream, guard: &TokenStream) -> TokenStream {
        let part = &self.part;
        let judge = format_ident!("judge_{}", self.sort.name(), span = Span::mixed_site());
        ours!({
            use #part::__private::judging::*;
            (&&&&&#part::__private::#what).#judge(#guard)
        })
    }
}

fn in_result(ok: &TokenStream, failed: &TokenStream) -> TokenStream {
    ours!(match __llmperf_value {
        ::core::result::Result::Ok(__llmperf_value) => ::core::result::Result::Ok(#ok),
        ::core::result::Result::Err(__llmperf_error) => {
            #failed
            ::core::result::Result::Err(__llmperf_error)
        }
    })
}

fn in_option(some: &TokenStream, ended: &TokenStream) -> TokenStream {
    ours!(match __llmperf_value {
        ::core::option::Option::Some(__llmperf_value) => ::core::option::Option::Some(#some),
        ::core::option::Option::None => {
            #ended
            ::core::option::Option::None
        }
    })
}

/// In a box as it was written: where several types meet, only its own type turns it into that of the trait.
fn boxed(boxing: Boxing, written: &Type, lasting: &TokenStream) -> TokenStream {
    let boxed = match boxing {
        Boxing::Not => return lasting.clone(),
        Boxing::Plain => ours!(::std::boxed::Box::new(#lasting)),
        Boxing::Pinned => ours!(::std::boxed::Box::pin(#lasting)),
    };
    let written = without_impl(written);
    ours!({
        let __llmperf_boxed: #written = #boxed;
        __llmperf_boxed
    })
}

/// What the body gives, as a type that may stand inside a function.
fn given(output: &ReturnType, shape: &Shape) -> Type {
    match output {
        _ if matches!(shape, Shape::Never) => parse_quote!(::core::convert::Infallible),
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, written) => without_impl(written),
    }
}

/// A function that never returns gives what has no values: the compiler takes that for `!`.
fn never(shape: &Shape, body: TokenStream) -> TokenStream {
    if !matches!(shape, Shape::Never) {
        return body;
    }
    ours! {
        let __llmperf_never: ::core::convert::Infallible = { #body };
        #[allow(unreachable_code)]
        match __llmperf_never {}
    }
}

/// Where an expression stands, with names of ours.
fn site(value: &impl ToTokens) -> Span {
    Span::mixed_site().located_at(value.span())
}

/// A text: a literal as it is, anything else by `ToString`.
fn text(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => value.to_token_stream(),
        _ => {
            let by_reference = by_reference(value);
            quote_spanned!(site(value)=> ::std::string::ToString::to_string(#by_reference))
        }
    }
}

/// A number without a suffix, as wide as an attribute can be.
fn wide(value: &Expr) -> Expr {
    let Expr::Lit(ExprLit { lit, .. }) = value else { return value.clone() };
    match lit {
        Lit::Int(number) if number.suffix().is_empty() => {
            let wide = syn::LitInt::new(&format!("{}i64", number.base10_digits()), number.span());
            parse_quote!(#wide)
        }
        Lit::Float(number) if number.suffix().is_empty() => {
            let wide = syn::LitFloat::new(&format!("{}f64", number.base10_digits()), number.span());
            parse_quote!(#wide)
        }
        _ => value.clone(),
    }
}

/// A reference to an expression, in parentheses where it needs them.
fn by_reference(value: &Expr) -> TokenStream {
    let binds = matches!(
        value,
        Expr::Lit(_)
            | Expr::Path(_)
            | Expr::Field(_)
            | Expr::MethodCall(_)
            | Expr::Call(_)
            | Expr::Index(_)
            | Expr::Paren(_)
            | Expr::Macro(_)
            | Expr::Tuple(_)
            | Expr::Array(_)
            | Expr::Block(_)
            | Expr::Reference(_)
            | Expr::Unary(_)
            | Expr::Struct(_)
    );
    if binds { quote_spanned!(site(value)=> &#value) } else { quote_spanned!(site(value)=> &(#value)) }
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
