/// No model computes with floating-point numbers, so all threads are in one mode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FloatMode;

impl FloatMode {
    pub(crate) fn current() -> Self {
        Self
    }

    pub(crate) fn ensure(self) {}

    pub(crate) fn enter(self) -> impl Drop + use<> {
        struct NothingToDo;
        impl Drop for NothingToDo {
            fn drop(&mut self) {}
        }
        NothingToDo
    }

    pub(crate) fn bits(self) -> u32 {
        0
    }

    pub(crate) fn from_bits(_: u32) -> Self {
        Self
    }
}
