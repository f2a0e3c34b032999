//! The function that an attribute stands on: its signature parsed, its body as it was written.

use proc_macro2::TokenStream;
use syn::{
    Attribute, Error, Ident, Result, Signature, Token, Visibility, braced,
    ext::IdentExt as _,
    parse::{Parse, ParseStream},
    token::Brace,
};

/// A function with a body, in whatever place: a module, an implementation, a trait.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) default: Option<Token![default]>,
    pub(crate) signature: Signature,
    pub(crate) brace: Brace,
    /// `#![…]` at the beginning of the body: they stay there.
    pub(crate) inner_attributes: Vec<Attribute>,
    /// Not parsed: what is wrong in it, the compiler says best.
    pub(crate) body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let default = if input.peek(Token![default]) { Some(input.parse()?) } else { None };
        refuse_other_items(input)?;
        let signature: Signature = input.parse()?;
        refuse_other_functions(&signature)?;
        if input.peek(Token![;]) {
            let message = "this function has no body: put the attribute on the implementations, or on a default body";
            return Err(Error::new(signature.ident.span(), message));
        }
        let content;
        let brace = braced!(content in input);
        let inner_attributes = content.call(Attribute::parse_inner)?;
        let body = content.parse()?;
        Ok(Self { attributes, visibility, default, signature, brace, inner_attributes, body })
    }
}

/// Says of anything but a function where the attribute belongs.
fn refuse_other_items(input: ParseStream<'_>) -> Result<()> {
    let ahead = input.fork();
    let _: Option<Token![unsafe]> = ahead.parse()?;
    let word: Ident = match ahead.call(Ident::parse_any) {
        Ok(word) => word,
        Err(_) => return Err(input.error("this attribute belongs on a function")),
    };
    let message = match word.to_string().as_str() {
        "impl" => "this attribute belongs on a function: put it on each method of the implementation",
        "trait" => "this attribute belongs on a function: put it on each method, where it has a body",
        "mod" => "this attribute belongs on a function: put it on each function of the module",
        "struct" | "enum" | "union" | "type" | "static" | "use" | "let" | "macro_rules" => {
            "this attribute belongs on a function"
        }
        "const" if !ahead.peek(Token![fn]) && !ahead.peek(Token![async]) && !ahead.peek(Token![unsafe]) => {
            "this attribute belongs on a function"
        }
        "extern" if ahead.peek(Token![crate]) || ahead.peek(Brace) || ahead.peek2(Brace) => {
            "this attribute belongs on a function"
        }
        _ => return Ok(()),
    };
    Err(Error::new(word.span(), message))
}

fn refuse_other_functions(signature: &Signature) -> Result<()> {
    if let Some(keyword) = &signature.constness {
        return Err(Error::new(keyword.span, "a `const fn` cannot be measured: it may run when nothing does"));
    }
    if let Some(variadic) = &signature.variadic {
        return Err(Error::new_spanned(variadic, "a function with variable arguments cannot be measured"));
    }
    if signature.ident == "main" && signature.inputs.is_empty() {
        let message = "`main` sets the telemetry up, so that its own beginning is never measured: \
                       put the attribute on a function that it calls";
        return Err(Error::new(signature.ident.span(), message));
    }
    Ok(())
}
