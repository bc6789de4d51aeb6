//! The floating-point mode of a thread: how its processor rounds, whether it flushes small numbers to zero, and which
//! exceptions trap. Each thread has its own, in registers, and computes with it. So a region has the same results on
//! every bee only if all bees are in one mode: `protocol/region/region_mode.rs` has them run it in their caller's.
//!
//! Rust's reference assumes that a program leaves the mode as it is when a thread begins; code that is compiled under
//! that assumption promises nothing in another mode, and assembly that changes it breaks a rule. Hive does not change
//! the mode of its own accord. It gives to one thread the mode that the program itself has put another one in, so what
//! a program may rely on in its own threads after such a change is what it may rely on in hive's.

use crate::on_drop::on_drop;

/// A thread's floating-point mode, without the flags that say which exceptions have occurred.
///
/// On x86, the control bits of MXCSR in the lower half and the control word of the x87 in the upper one; on AArch64,
/// FPCR. Elsewhere all modes are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatMode(u32);

impl FloatMode {
    /// That of the calling thread.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        Self(imp::read())
    }

    /// Puts the calling thread in this mode, unless it is in it.
    #[inline(always)]
    pub(crate) fn ensure(self) {
        if Self::current() != self {
            self.set();
        }
    }

    #[cold]
    #[inline(never)]
    fn set(self) {
        imp::write(self.0);
    }

    /// Puts the calling thread in this mode until the guard is dropped. Then it gets its own back, if this is another.
    pub(crate) fn enter(self) -> impl Drop + use<> {
        let outer = Self::current();
        let is_other = outer != self;
        if is_other {
            self.set();
        }
        on_drop(move || {
            if is_other {
                outer.set();
            }
        })
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

#[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri)))]
#[expect(unsafe_code, reason = "instructions that std has no name for")]
mod imp {
    use std::arch::asm;

    /// All of MXCSR but the flags of exceptions, which are its lowest six bits.
    const CONTROL_BITS: u32 = 0xffc0;

    #[inline(always)]
    pub(super) fn read() -> u32 {
        mxcsr() & CONTROL_BITS | u32::from(x87_control()) << 16
    }

    pub(super) fn write(mode: u32) {
        set_mxcsr(mxcsr() & !CONTROL_BITS | mode & CONTROL_BITS);
        let control = (mode >> 16) as u16;
        // SAFETY: it reads the given word, which another thread has had as its control word. For what the change means
        // to Rust's own code see the head of this file.
        unsafe { asm!("fldcw word ptr [{}]", in(reg) &raw const control, options(nostack, preserves_flags, readonly)) };
    }

    #[inline(always)]
    fn x87_control() -> u16 {
        let mut control = 0_u16;
        // SAFETY: every such processor has this instruction, which only writes the two bytes that it is given.
        unsafe { asm!("fnstcw word ptr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
        control
    }

    #[cfg(target_feature = "sse")]
    #[inline(always)]
    fn mxcsr() -> u32 {
        let mut bits = 0_u32;
        // SAFETY: the processor has SSE, and the instruction only writes the four bytes that it is given.
        unsafe { asm!("stmxcsr dword ptr [{}]", in(reg) &raw mut bits, options(nostack, preserves_flags)) };
        bits
    }

    #[cfg(target_feature = "sse")]
    fn set_mxcsr(bits: u32) {
        // SAFETY: the bits are the flags of this thread and the mode of another one, all of which MXCSR has had. For
        // what the change means to Rust's own code see the head of this file.
        unsafe { asm!("ldmxcsr dword ptr [{}]", in(reg) &raw const bits, options(nostack, preserves_flags, readonly)) };
    }

    #[cfg(not(target_feature = "sse"))]
    fn mxcsr() -> u32 {
        0
    }

    #[cfg(not(target_feature = "sse"))]
    fn set_mxcsr(_bits: u32) {}
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[expect(unsafe_code, reason = "a register that std has no name for")]
mod imp {
    use std::arch::asm;

    /// FPCR, which has no flags. Its upper half means nothing.
    #[inline(always)]
    pub(super) fn read() -> u32 {
        let bits: u64;
        // SAFETY: a program may read this register at any time.
        unsafe { asm!("mrs {}, fpcr", out(reg) bits, options(nomem, nostack, preserves_flags)) };
        bits as u32
    }

    pub(super) fn write(mode: u32) {
        // SAFETY: another thread has had these bits in its register. For what the change means to Rust's own code see
        // the head of this file.
        unsafe { asm!("msr fpcr, {}", in(reg) u64::from(mode), options(nostack, preserves_flags)) };
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64"))))]
mod imp {
    pub(super) fn read() -> u32 {
        0
    }

    pub(super) fn write(_mode: u32) {}
}
