//! Shuttle's atomics, boxed: the cache line of the start line has no room for what shuttle keeps beside each value.

use std::ops::Deref;

use shuttle::sync::atomic as shuttle_atomic;

use super::Ordering;

macro_rules! boxed {
    ($name:ident, $value:ty) => {
        #[derive(Default)]
        pub(crate) struct $name(Box<shuttle_atomic::$name>);

        impl $name {
            pub(crate) fn new(value: $value) -> Self {
                Self(Box::new(shuttle_atomic::$name::new(value)))
            }
        }

        impl Deref for $name {
            type Target = shuttle_atomic::$name;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    };
}

boxed!(AtomicU64, u64);
boxed!(AtomicU32, u32);
boxed!(AtomicBool, bool);

/// Does nothing: every schedule here is sequentially consistent. The loom models check the fences.
pub(crate) fn fence(_: Ordering) {}

pub(crate) fn light_fence() {}

pub(crate) fn try_heavy_fence() -> bool {
    true
}

/// A cell with the interface that the protocol files use. Races are for loom to find.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        access(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
}
