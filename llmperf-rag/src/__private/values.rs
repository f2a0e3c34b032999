//! Arguments of attributes, as setters take them.

use std::{borrow::Cow, rc::Rc, sync::Arc};

use llmperf_core::opentelemetry::Value;

/// Integers that count something; what is no number of things is none.
#[diagnostic::on_unimplemented(message = "a `{Self}` is no number of things", label = "an integer is expected")]
pub trait Count {
    /// The number.
    fn count(&self) -> Option<u64>;
}

/// The number that an argument says.
pub fn count(number: &(impl Count + ?Sized)) -> Option<u64> {
    number.count()
}

macro_rules! counts {
    ($($integer:ty),*) => {
        $(impl Count for $integer {
            fn count(&self) -> Option<u64> {
                u64::try_from(*self).ok()
            }
        })*
    };
}
counts!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

macro_rules! nonzero {
    ($($integer:ident),*) => {
        $(impl Count for std::num::$integer {
            fn count(&self) -> Option<u64> {
                u64::try_from(self.get()).ok()
            }
        })*
    };
}
nonzero!(NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize);

impl<T: Count> Count for Option<T> {
    fn count(&self) -> Option<u64> {
        self.as_ref().and_then(Count::count)
    }
}

/// What may stand as the value of an attribute.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` is no value of an attribute",
    note = "truth values, numbers and texts are; make another a text: `attributes(\"key\" = value.to_string())`"
)]
pub trait AttributeValue {
    /// The value.
    fn value(&self) -> Value;
}

/// The value that an argument says.
pub fn value(value: &(impl AttributeValue + ?Sized)) -> Value {
    value.value()
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl AttributeValue for $integer {
            fn value(&self) -> Value {
                Value::I64(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        })*
    };
}
integers!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, isize);

macro_rules! floats {
    ($($float:ty),*) => {
        $(impl AttributeValue for $float {
            fn value(&self) -> Value {
                Value::F64((*self).into())
            }
        })*
    };
}
floats!(f32, f64);

macro_rules! words {
    ($($words:ty),*) => {
        $(impl AttributeValue for $words {
            fn value(&self) -> Value {
                let words: &str = self;
                Value::String(words.to_owned().into())
            }
        })*
    };
}
words!(str, String, Box<str>, Rc<str>, Arc<str>, Cow<'_, str>);

impl AttributeValue for bool {
    fn value(&self) -> Value {
        Value::Bool(*self)
    }
}

impl AttributeValue for Value {
    fn value(&self) -> Value {
        self.clone()
    }
}

macro_rules! held {
    ($($holder:ty),*) => {
        $(
            impl<T: Count + ?Sized> Count for $holder {
                fn count(&self) -> Option<u64> {
                    (**self).count()
                }
            }

            impl<T: AttributeValue + ?Sized> AttributeValue for $holder {
                fn value(&self) -> Value {
                    (**self).value()
                }
            }
        )*
    };
}
held!(&T, &mut T);
