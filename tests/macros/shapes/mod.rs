//! Each shape of function, run: it gives what it gave without the attribute, and it left its span.

mod free;
mod futures;
mod methods;
mod others;
mod streams;
mod traits;
