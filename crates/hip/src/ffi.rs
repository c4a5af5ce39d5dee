//! What the `sys` modules are made of: C enumerations, and functions that are found at run time.

/// Declares a C enumeration as an integer type with named values.
///
/// A Rust `enum` would be undefined behaviour as soon as a newer library returns a value that is
/// not in the list; here such a value is an ordinary one without a name.
macro_rules! c_enum {
    ($(#[$meta:meta])* $name:ident($repr:ty) { $($value:ident = $number:expr,)* }) => {
        $(#[$meta])*
        #[allow(non_camel_case_types)]
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub $repr);

        #[allow(non_upper_case_globals, missing_docs)]
        impl $name {
            $(pub const $value: Self = Self($number);)*
        }

        impl $name {
            /// The name of this value in the C header, if it is one that this crate knows.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$value => Some(stringify!($value)),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}({})", stringify!($name), self.0),
                }
            }
        }
    };
}

/// Declares C functions that are looked up in a [`Library`](crate::loader::Library) on their first
/// call.
///
/// Where the library or the function is missing, a call returns the value given as `otherwise`;
/// the library then remembers the reason.
macro_rules! c_functions {
    (
        library $library:path;
        otherwise $missing:expr;
        $(
            $(#[$meta:meta])*
            fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty;
        )*
    ) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            ///
            /// The arguments have to be those that the C function asks for.
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub unsafe fn $name($($arg: $type),*) -> $result {
                type Function = unsafe extern "C" fn($($type),*) -> $result;
                static FUNCTION: std::sync::OnceLock<Option<Function>> = std::sync::OnceLock::new();
                // SAFETY: `Function` is the C signature of the symbol.
                match FUNCTION.get_or_init(|| unsafe { $library.function(stringify!($name)) }) {
                    // SAFETY: the caller gives valid arguments.
                    Some(function) => unsafe { function($($arg),*) },
                    None => $missing,
                }
            }
        )*
    };
}
