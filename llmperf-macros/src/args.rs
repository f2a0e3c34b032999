//! What stands in an attribute's parentheses. One parser for all attributes, and one check that nothing is given twice.

use syn::{
    Error, Expr, ExprLit, ExprUnary, Ident, Lit, LitStr, Path, Result, Token, UnOp, ext::IdentExt as _, parenthesized,
    parse::ParseStream, spanned::Spanned as _,
};

use crate::sort::{Kind, Sort};

/// The core's own limit: further labels would be left out at run time, in silence.
const MOST_LABELS: usize = 2;

/// What an attribute was told.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) crate_path: Option<Path>,
    /// The name that its builder begins with; of those without, `name` is a setter.
    pub(crate) name: Option<Expr>,
    pub(crate) stream: Option<Stream>,
    pub(crate) setters: Vec<Setter>,
    pub(crate) reads: Option<Closure>,
    pub(crate) goal: Option<Closure>,
    pub(crate) first_output: Option<Closure>,
}

/// An argument that becomes a setter of the same name.
pub(crate) struct Setter {
    pub(crate) name: Ident,
    pub(crate) value: Value,
}

/// What a setter is given.
pub(crate) enum Value {
    Text(Expr),
    Count(Expr),
    Limit(Expr),
    Borrowed(Expr),
    /// One call of the setter for each pair.
    Values(Vec<(LitStr, Expr)>),
    Labels(Vec<(LitStr, Expr)>),
}

/// A closure, and the argument that gave it.
pub(crate) struct Closure {
    pub(crate) argument: Ident,
    pub(crate) code: Expr,
}

/// `stream = …`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The type is an alias of a pinned box with a stream in it.
    Boxed,
    /// What looks like a stream is none.
    None,
}

impl Args {
    /// Parses the arguments of an attribute of this sort.
    pub(crate) fn parse(sort: Sort, input: ParseStream<'_>) -> Result<Self> {
        let mut args = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            if !input.peek(Ident::peek_any) {
                return Err(unnamed(sort, input));
            }
            let name = input.call(Ident::parse_any)?;
            let Some(kind) = sort.kind(&name.to_string()) else { return Err(unknown(sort, &name)) };
            if seen.contains(&name) {
                return Err(Error::new(name.span(), format!("`{name}` is given twice")));
            }
            seen.push(name.clone());
            args.take(sort, name, kind, input)?;
            if !input.is_empty() && !input.peek(Token![,]) {
                return Err(input.error("expected `,` and the next argument"));
            }
            let _: Option<Token![,]> = input.parse()?;
        }
        args.check()
    }

    fn take(&mut self, sort: Sort, name: Ident, kind: Kind, input: ParseStream<'_>) -> Result<()> {
        if matches!(kind, Kind::Values | Kind::Labels) {
            let pairs = pairs(&name, kind, input)?;
            let value = if kind == Kind::Labels { Value::Labels(pairs) } else { Value::Values(pairs) };
            self.setters.push(Setter { name, value });
            return Ok(());
        }
        if !input.peek(Token![=]) {
            return Err(Error::new(name.span(), format!("`{name}` needs a value: `{name} = {}`", example(kind))));
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            return Err(Error::new(name.span(), format!("`{name}` needs a value: `{name} = {}`", example(kind))));
        }
        match kind {
            Kind::Crate => self.crate_path = Some(crate_path(input)?),
            Kind::Stream => self.stream = Some(stream(input)?),
            _ => {
                let value = input.parse()?;
                check(&name, kind, &value)?;
                self.set(sort, name, kind, value);
            }
        }
        Ok(())
    }

    fn set(&mut self, sort: Sort, name: Ident, kind: Kind, value: Expr) {
        if name == "name" && sort.is_named() {
            self.name = Some(value);
            return;
        }
        let value = match kind {
            Kind::Text => Value::Text(value),
            Kind::Count => Value::Count(value),
            Kind::Limit => Value::Limit(value),
            Kind::Closure => {
                let place = match name.to_string().as_str() {
                    "reads" => &mut self.reads,
                    "goal" => &mut self.goal,
                    _ => &mut self.first_output,
                };
                *place = Some(Closure { argument: name, code: value });
                return;
            }
            _ => Value::Borrowed(value),
        };
        self.setters.push(Setter { name, value });
    }

    /// What only all arguments together can show.
    fn check(self) -> Result<Self> {
        if let Some(reads) = self.reads.as_ref().filter(|_| !self.is_call()) {
            let message = "`reads` says what an answer of a model carries: name the model with `provider` or `model`";
            return Err(Error::new(reads.argument.span(), message));
        }
        Ok(self)
    }

    /// Whether a model was named, so that what runs is a measured call.
    pub(crate) fn is_call(&self) -> bool {
        self.setters.iter().any(|setter| setter.name == "provider" || setter.name == "model")
    }
}

/// What a value of this kind looks like, in messages.
fn example(kind: Kind) -> &'static str {
    match kind {
        Kind::Crate => "path::to::llmperf",
        Kind::Stream => "boxed",
        Kind::Text => "\"…\"",
        Kind::Count => "8",
        Kind::Limit => "Duration::from_secs(5)",
        Kind::Closure => "|value| …",
        Kind::Borrowed | Kind::Values | Kind::Labels => "…",
    }
}

fn unnamed(sort: Sort, input: ParseStream<'_>) -> Error {
    let known = known(sort);
    match input.parse::<Lit>() {
        Ok(Lit::Str(text)) => Error::new(text.span(), format!("arguments have names: `name = {:?}`", text.value())),
        Ok(literal) => Error::new(literal.span(), format!("arguments have names; `{}` takes {known}", sort.name())),
        Err(_) => input.error(format!("expected the name of an argument; `{}` takes {known}", sort.name())),
    }
}

fn unknown(sort: Sort, name: &Ident) -> Error {
    Error::new(name.span(), format!("`{}` takes no `{name}`; it takes {}", sort.name(), known(sort)))
}

fn known(sort: Sort) -> String {
    let names: Vec<_> = sort.arguments().map(|(name, _)| format!("`{name}`")).collect();
    names.join(", ")
}

fn crate_path(input: ParseStream<'_>) -> Result<Path> {
    if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        let message = format!("`crate` is a path, not a text: `crate = {}`", text.value());
        return Err(Error::new(text.span(), message));
    }
    input.call(Path::parse_mod_style).map_err(|error| Error::new(error.span(), "`crate` is a path: `crate = renamed`"))
}

fn stream(input: ParseStream<'_>) -> Result<Stream> {
    let expected = "`stream` is `boxed` (an alias of a pinned, boxed stream) or `none` (no stream at all)";
    let word: Ident = input.call(Ident::parse_any).map_err(|error| Error::new(error.span(), expected))?;
    match word.to_string().as_str() {
        "boxed" => Ok(Stream::Boxed),
        "none" => Ok(Stream::None),
        _ => Err(Error::new(word.span(), expected)),
    }
}

/// `attributes("tenant.id" = tenant, …)`
fn pairs(argument: &Ident, kind: Kind, input: ParseStream<'_>) -> Result<Vec<(LitStr, Expr)>> {
    let expected = || format!("`{argument}` takes pairs in parentheses: `{argument}(\"tenant.id\" = tenant)`");
    if !input.peek(syn::token::Paren) {
        return Err(Error::new(argument.span(), expected()));
    }
    let content;
    parenthesized!(content in input);
    let mut pairs: Vec<(LitStr, Expr)> = Vec::new();
    while !content.is_empty() {
        let key: LitStr =
            content.parse().map_err(|error| Error::new(error.span(), "a key is a text: `\"tenant.id\"`"))?;
        if key.value().is_empty() {
            return Err(Error::new(key.span(), "a key is not empty"));
        }
        if pairs.iter().any(|(other, _)| other.value() == key.value()) {
            return Err(Error::new(key.span(), format!("`{}` is given twice", key.value())));
        }
        if kind == Kind::Labels && pairs.len() == MOST_LABELS {
            return Err(Error::new(key.span(), format!("metrics take at most {MOST_LABELS} labels of your own")));
        }
        if !content.peek(Token![=]) {
            return Err(Error::new(key.span(), format!("`{0}` needs a value: `\"{0}\" = …`", key.value())));
        }
        content.parse::<Token![=]>()?;
        let value = content.parse()?;
        check(argument, kind, &value)?;
        pairs.push((key, value));
        if !content.is_empty() && !content.peek(Token![,]) {
            return Err(content.error("expected `,` and the next pair"));
        }
        let _: Option<Token![,]> = content.parse()?;
    }
    Ok(pairs)
}

/// Whether a literal or a closure is of the right kind. Of what an expression gives only the compiler knows.
fn check(name: &Ident, kind: Kind, value: &Expr) -> Result<()> {
    let (literal, negative) = match value {
        Expr::Lit(ExprLit { lit, .. }) => (Some(lit), false),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => match &**expr {
            Expr::Lit(ExprLit { lit, .. }) => (Some(lit), true),
            _ => (None, false),
        },
        _ => (None, false),
    };
    let is_closure = matches!(value, Expr::Closure(_));
    let fits = match (kind, literal) {
        (Kind::Borrowed, _) => true,
        (Kind::Closure, literal) => literal.is_none(),
        (_, None) => !is_closure,
        (Kind::Text | Kind::Labels, Some(literal)) => matches!(literal, Lit::Str(_)),
        (Kind::Count, Some(literal)) => matches!(literal, Lit::Int(_)) && !negative,
        (Kind::Values, Some(literal)) => matches!(literal, Lit::Str(_) | Lit::Int(_) | Lit::Float(_) | Lit::Bool(_)),
        (_, Some(_)) => false,
    };
    if fits { Ok(()) } else { Err(Error::new(value.span(), expected(name, kind))) }
}

fn expected(name: &Ident, kind: Kind) -> String {
    match kind {
        Kind::Text => format!("`{name}` is a text: a literal, or anything that has `to_string`"),
        Kind::Count => format!("`{name}` is a number of things: `8`, or a variable of an integer type"),
        Kind::Limit => format!("`{name}` is a `Duration`: `{name} = Duration::from_secs(5)`"),
        Kind::Closure => format!("`{name}` is a closure: `{name} = |value| …`"),
        Kind::Labels => format!("the values of `{name}` are texts"),
        _ => format!("the values of `{name}` are texts, numbers or truth values"),
    }
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
