//! Attribute values from expressions, by reference.

use std::borrow::Cow;

use opentelemetry::Value;

/// What may be the value of an attribute: truth values, numbers, texts, and references to these.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` is no value of an attribute",
    note = "truth values, numbers and texts are; make another a text: `attributes(\"key\" = value.to_string())`"
)]
pub trait AttributeValue {
    /// The value.
    fn attribute_value(&self) -> Value;
}

/// The value of an expression.
pub fn value<V: AttributeValue + ?Sized>(value: &V) -> Value {
    value.attribute_value()
}

impl<V: AttributeValue + ?Sized> AttributeValue for &V {
    fn attribute_value(&self) -> Value {
        (**self).attribute_value()
    }
}

impl AttributeValue for str {
    fn attribute_value(&self) -> Value {
        self.to_owned().into()
    }
}

impl AttributeValue for String {
    fn attribute_value(&self) -> Value {
        self.as_str().attribute_value()
    }
}

impl AttributeValue for Cow<'_, str> {
    fn attribute_value(&self) -> Value {
        (**self).attribute_value()
    }
}

impl AttributeValue for Value {
    fn attribute_value(&self) -> Value {
        self.clone()
    }
}

impl AttributeValue for bool {
    fn attribute_value(&self) -> Value {
        (*self).into()
    }
}

macro_rules! numbers {
    ($as:ty: $($number:ty),*) => {
        $(impl AttributeValue for $number {
            fn attribute_value(&self) -> Value {
                <$as>::from(*self).into()
            }
        })*
    };
}

numbers!(i64: i8, i16, i32, i64, u8, u16, u32);
numbers!(f64: f32, f64);

macro_rules! large_numbers {
    ($($number:ty),*) => {
        $(impl AttributeValue for $number {
            /// What is too large for an integer of OpenTelemetry is a text.
            fn attribute_value(&self) -> Value {
                i64::try_from(*self).map_or_else(|_| self.to_string().into(), Value::from)
            }
        })*
    };
}

large_numbers!(u64, usize, isize, i128, u128);
