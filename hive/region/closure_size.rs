//! Which closures of the program are so large that they are boxed before they are passed on, and a macro that boxes
//! them: bodies of regions, tasks, and what is handed over to a pool.

/// In bytes: a closure larger than this is boxed before it is passed on, and called where it lies.
///
/// What a closure has captured is moved through about a dozen stack frames on its way into a job and out of it, and
/// each frame may keep a copy.
const BOX_THRESHOLD: usize = 1 << 10;

/// Whether this closure should be boxed first.
#[inline(always)]
pub(crate) const fn is_large<F>(_: &F) -> bool {
    size_of::<F>() > BOX_THRESHOLD
}

/// The value of `$then`, in which the closure `$f` is a `Box<$dyn>` if it is large. `$then` is compiled twice, for the
/// closure and for the box: `boxed_if_large!(task: dyn FnOnce() + Send => self.queue_task(task))`.
macro_rules! boxed_if_large {
    ($f:ident: $dyn:ty => $then:expr) => {
        if crate::region::closure_size::is_large(&$f) {
            let $f = Box::new($f) as Box<$dyn>;
            $then
        } else {
            $then
        }
    };
}
pub(crate) use boxed_if_large;
