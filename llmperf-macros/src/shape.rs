//! What a function gives, as its return type is written: a value, a stream, a future; in a `Result`, an `Option`, a box.

use syn::{
    AssocType, Error, GenericArgument, GenericParam, Generics, PathArguments, PathSegment, Result, ReturnType, Type,
    TypeParamBound, WherePredicate, parse_quote,
    punctuated::Punctuated,
    token::Plus,
    visit_mut::{self, VisitMut},
};

use crate::args::Stream;

/// What a return type is.
#[derive(Clone)]
pub(crate) enum Shape {
    /// Neither a stream nor a future: it is there when the function returns.
    Value,
    /// The type without values: `!`.
    Never,
    /// The work ends with it.
    Stream { item: Option<Type>, boxing: Boxing, written: Type },
    /// The work is to await it.
    Future { output: Box<Self>, output_type: Option<Type>, boxing: Boxing, written: Type },
    /// A stream or a future in the `Ok` of a `Result`.
    InResult(Box<Self>),
    /// A stream or a future in the `Some` of an `Option`.
    InOption(Box<Self>),
}

/// How a stream or a future is boxed, and so how it must be boxed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boxing {
    Not,
    Plain,
    Pinned,
}

/// The two things that are not there when the function returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasting {
    Stream,
    Future,
}

/// Reads return types of one function.
pub(crate) struct Reading<'a> {
    pub(crate) stream: Option<Stream>,
    pub(crate) generics: &'a Generics,
}

impl Shape {
    /// Whether it has a future in it, so that the work begins with its first poll.
    pub(crate) fn is_awaited(&self) -> bool {
        match self {
            Self::Value | Self::Never | Self::Stream { .. } => false,
            Self::Future { .. } => true,
            Self::InResult(inner) | Self::InOption(inner) => inner.is_awaited(),
        }
    }

    /// Whether the work ends with a stream.
    pub(crate) fn is_streamed(&self) -> bool {
        match self {
            Self::Value | Self::Never => false,
            Self::Stream { .. } => true,
            Self::Future { output: inner, .. } | Self::InResult(inner) | Self::InOption(inner) => inner.is_streamed(),
        }
    }
}

impl Reading<'_> {
    /// The shape of a return type.
    pub(crate) fn shape(&self, output: &ReturnType) -> Result<Shape> {
        match output {
            ReturnType::Default => Ok(Shape::Value),
            ReturnType::Type(_, written) => self.of(written),
        }
    }

    fn of(&self, written: &Type) -> Result<Shape> {
        match written {
            Type::Group(group) => self.of(&group.elem),
            Type::Paren(paren) => self.of(&paren.elem),
            Type::Never(_) => Ok(Shape::Never),
            Type::Path(path) if path.path.segments.last().is_some() => self.of_path(written),
            _ => match self.lasting(written, written, Boxing::Not)? {
                Some(shape) => Ok(shape),
                None => self.leaf(written),
            },
        }
    }

    fn of_path(&self, written: &Type) -> Result<Shape> {
        let Some(segment) = last_segment(written) else { return self.leaf(written) };
        let first = types(segment).next();
        let name = segment.ident.to_string();
        match (name.as_str(), first) {
            // Of whatever first name: applications have their own alias with their own error.
            (name, Some(inner)) if name.ends_with("Result") => self.held(inner, Shape::InResult),
            ("Option", Some(inner)) => self.held(inner, Shape::InOption),
            ("BoxStream" | "LocalBoxStream", Some(item)) if self.stream != Some(Stream::None) => {
                Ok(Shape::Stream { item: Some(item.clone()), boxing: Boxing::Pinned, written: written.clone() })
            }
            ("BoxFuture" | "LocalBoxFuture", Some(output)) => self.future(written, Some(output), Boxing::Pinned),
            ("Pin", Some(inner)) => match last_segment(inner).filter(|inner| inner.ident == "Box") {
                Some(boxed) => self.boxed(written, boxed, Boxing::Pinned),
                None => self.leaf(written),
            },
            ("Box", Some(_)) => self.boxed(written, segment, Boxing::Plain),
            _ => self.leaf(written),
        }
    }

    fn held(&self, inner: &Type, hold: fn(Box<Shape>) -> Shape) -> Result<Shape> {
        Ok(match self.of(inner)? {
            Shape::Value | Shape::Never => Shape::Value,
            lasting => hold(Box::new(lasting)),
        })
    }

    fn boxed(&self, written: &Type, holder: &PathSegment, boxing: Boxing) -> Result<Shape> {
        let shape = match types(holder).next() {
            Some(inner) => self.lasting(inner, written, boxing)?,
            None => None,
        };
        shape.map_or_else(|| self.leaf(written), Ok)
    }

    /// The shape of `impl Trait` and `dyn Trait`, if that is a stream or a future; `written` is all of it, box included.
    fn lasting(&self, inner: &Type, written: &Type, boxing: Boxing) -> Result<Option<Shape>> {
        let bounds = match inner {
            Type::Group(group) => return self.lasting(&group.elem, written, boxing),
            Type::Paren(paren) => return self.lasting(&paren.elem, written, boxing),
            Type::ImplTrait(inner) => &inner.bounds,
            Type::TraitObject(inner) => &inner.bounds,
            _ => return Ok(None),
        };
        for segment in segments(bounds) {
            let of = |name: &str| associated(segment, name).cloned();
            let tried = || {
                let (ok, error) = (of("Ok")?, of("Error")?);
                Some(parse_quote!(::core::result::Result<#ok, #error>))
            };
            let is_stream = self.stream != Some(Stream::None);
            match segment.ident.to_string().as_str() {
                "Stream" | "FusedStream" if is_stream => {
                    return Ok(Some(Shape::Stream { item: of("Item"), boxing, written: written.clone() }));
                }
                "TryStream" if is_stream => {
                    return Ok(Some(Shape::Stream { item: tried(), boxing, written: written.clone() }));
                }
                "Future" => return self.future(written, of("Output").as_ref(), boxing).map(Some),
                "TryFuture" => return self.future(written, tried().as_ref(), boxing).map(Some),
                "FusedFuture" => {
                    let message = "a future that says whether it is over cannot be measured: write `impl Future`";
                    return Err(Error::new(segment.ident.span(), message));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn future(&self, written: &Type, output: Option<&Type>, boxing: Boxing) -> Result<Shape> {
        let shape = output.map_or(Ok(Shape::Value), |output| self.of(output))?;
        if shape.is_awaited() {
            let message = "a future that gives a future cannot be measured: let one of them await the other";
            return Err(Error::new_spanned(output, message));
        }
        Ok(Shape::Future { output: Box::new(shape), output_type: output.cloned(), boxing, written: written.clone() })
    }

    /// A type that is none of the known forms.
    fn leaf(&self, written: &Type) -> Result<Shape> {
        match self.stream {
            Some(Stream::Boxed) => {
                return Ok(Shape::Stream { item: None, boxing: Boxing::Pinned, written: written.clone() });
            }
            Some(Stream::None) => return Ok(Shape::Value),
            None => {}
        }
        if let Some(lasting) = self.unwrappable(written) {
            return Err(refused(written, lasting));
        }
        let mut inside = Inside { lasting: None };
        inside.visit_type_mut(&mut written.clone());
        match inside.lasting {
            Some(found) => Err(Error::new_spanned(
                found,
                "what is in another type cannot be measured to its end: give it alone, in a `Result` or in an `Option`, \
                 or say `stream = none`",
            )),
            None => Ok(Shape::Value),
        }
    }

    /// Whether the type is, by its name or its bounds, a stream or a future of a type of its own.
    fn unwrappable(&self, written: &Type) -> Option<Lasting> {
        let segment = last_segment(written)?;
        let name = segment.ident.to_string();
        // Connections, and the stream of tokens of macros.
        if matches!(name.as_str(), "TcpStream" | "UnixStream" | "TlsStream" | "DuplexStream" | "TokenStream") {
            return None;
        }
        if name.ends_with("Stream") || name.ends_with("Receiver") {
            return Some(Lasting::Stream);
        }
        if name.ends_with("Future") {
            return Some(Lasting::Future);
        }
        self.bounds_of(&name).find_map(|segment| match segment.ident.to_string().as_str() {
            "Stream" | "TryStream" | "FusedStream" => Some(Lasting::Stream),
            "Future" | "TryFuture" => Some(Lasting::Future),
            _ => None,
        })
    }

    /// The bounds of a type parameter of the function.
    fn bounds_of(&self, name: &str) -> impl Iterator<Item = &PathSegment> {
        let inline = self.generics.params.iter().filter_map(move |param| match param {
            GenericParam::Type(param) if param.ident == name => Some(&param.bounds),
            _ => None,
        });
        let predicates = self.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        let clauses = predicates.filter_map(move |predicate| match predicate {
            WherePredicate::Type(bounded) => {
                last_segment(&bounded.bounded_ty).filter(|segment| segment.ident == name).map(|_| &bounded.bounds)
            }
            _ => None,
        });
        inline.chain(clauses).flat_map(segments)
    }
}

fn refused(written: &Type, lasting: Lasting) -> Error {
    let message = match lasting {
        Lasting::Stream => {
            "a stream of a type of its own cannot be measured to its end: give `impl Stream<Item = …>` or `BoxStream`; \
             say `stream = boxed` if this is an alias of a pinned, boxed stream, `stream = none` if it is no stream"
        }
        Lasting::Future => {
            "a future of a type of its own cannot be measured to its end: give `impl Future<Output = …>` or `BoxFuture`, \
             or make the function `async`; say `stream = none` if it is no future"
        }
    };
    Error::new_spanned(written, message)
}

fn last_segment(written: &Type) -> Option<&PathSegment> {
    match written {
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// The types among the parameters of a path's segment.
fn types(segment: &PathSegment) -> impl Iterator<Item = &Type> {
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    };
    arguments.into_iter().flatten().filter_map(|argument| match argument {
        GenericArgument::Type(written) => Some(written),
        _ => None,
    })
}

/// `Item = …` and the like.
fn associated<'a>(segment: &'a PathSegment, name: &str) -> Option<&'a Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(AssocType { ident, ty, .. }) if ident == name => Some(ty),
        _ => None,
    })
}

/// The traits of a list of bounds, by their last segments.
fn segments(bounds: &Punctuated<TypeParamBound, Plus>) -> impl Iterator<Item = &PathSegment> {
    bounds.iter().filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last(),
        _ => None,
    })
}

fn lasts(written: &Type) -> bool {
    let bounds = match written {
        Type::ImplTrait(written) => Some(&written.bounds),
        Type::TraitObject(written) => Some(&written.bounds),
        _ => None,
    };
    let names = bounds.into_iter().flat_map(segments).chain(last_segment(written));
    names.map(|segment| segment.ident.to_string()).any(|name| {
        matches!(name.as_str(), "Stream" | "FusedStream" | "TryStream" | "Future" | "TryFuture")
            || matches!(name.as_str(), "BoxStream" | "LocalBoxStream" | "BoxFuture" | "LocalBoxFuture")
    })
}

/// Looks for a stream or a future inside another type.
struct Inside {
    lasting: Option<Type>,
}

impl VisitMut for Inside {
    fn visit_type_mut(&mut self, written: &mut Type) {
        if lasts(written) {
            self.lasting.get_or_insert_with(|| written.clone());
        }
        // What a function or a closure gives is not given yet.
        if !matches!(written, Type::BareFn(_)) {
            visit_mut::visit_type_mut(self, written);
        }
    }

    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut syn::ParenthesizedGenericArguments) {}
}

/// The type with `_` for each `impl Trait` in it, as it may be written inside a body.
pub(crate) fn without_impl(written: &Type) -> Type {
    struct Erase;
    impl VisitMut for Erase {
        fn visit_type_mut(&mut self, written: &mut Type) {
            if matches!(written, Type::ImplTrait(_)) {
                *written = parse_quote!(_);
            } else {
                visit_mut::visit_type_mut(self, written);
            }
        }
    }
    let mut erased = written.clone();
    Erase.visit_type_mut(&mut erased);
    erased
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
