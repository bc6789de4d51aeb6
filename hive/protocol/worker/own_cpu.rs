//! When a worker is bound to its own CPU, and when not: while it sleeps, if that pays, and where a thread that waits
//! for it needs the CPU. See `docs/unbound-sleep.md`. `main_loop.rs` calls this; a thread that wakes the worker may
//! bind it again as well (`wake.rs`).

use crate::protocol::worker::main_loop::Worker;

impl Worker<'_, '_> {
    /// Moves the worker to another CPU if the queen waits for it on this one; back to its own, if this one is another,
    /// or if it has been brought here.
    pub(super) fn leave_shared_cpu(&mut self) {
        self.team.end_visit(self.slot);
        let policy = self.team.policy();
        let Some(cpu) = policy.cpu_to_leave() else { return };
        if self.slot.sleep_binding.has_left() {
            self.bind_again();
        } else if !self.may_be_unbound && self.team.are_woken_by_queen() {
            self.slot.sleep_binding.leave_cpu(cpu, policy);
        }
    }

    /// Unbinds the worker for its sleep, if it may be unbound.
    pub(super) fn unbind(&mut self) {
        if self.team.are_woken_by_queen() && self.slot.sleep_binding.unbind() {
            self.team.policy().count_unbound();
        }
        self.may_be_unbound = self.slot.sleep_binding.is_unbound();
    }

    /// Binds the worker again if it sleeps and runs unbound.
    #[cold]
    pub(super) fn bind_again(&mut self) {
        self.team.bind_again(self.slot);
        self.may_be_unbound = self.slot.sleep_binding.is_unbound();
    }
}
