//! Quicksort and mergesort by `join`, which both libraries have. (Who wants numbers sorted, and not to write a sort,
//! takes Rayon's `par_sort`, which runs on the bees of a hive as well: docs/from-rayon.md.)
//!
//!     cargo run --release --example sorts [-- --compare]

mod compare;

/// What is no longer than this is sorted by the standard library.
const SHORT: usize = 4096;

/// Sorts the first slice; the second is as long, and for whatever.
type Sort = fn(&mut [u64], &mut [u64]);

/// Runs both closures, perhaps at the same time: `hive::join`, `rayon::join`, or one after the other.
trait Join: Sync {
    fn join(a: impl FnOnce() + Send, b: impl FnOnce() + Send);
}

struct Alone;
struct Hive;
struct Rayon;

impl Join for Alone {
    fn join(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        a();
        b();
    }
}

impl Join for Hive {
    fn join(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        hive::join(a, b);
    }
}

impl Join for Rayon {
    fn join(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        rayon::join(a, b);
    }
}

fn quicksort<J: Join>(data: &mut [u64]) {
    if data.len() <= SHORT {
        return data.sort_unstable();
    }
    // The median of a few is near the middle.
    let step = data.len() / 9;
    let mut few: [u64; 9] = std::array::from_fn(|i| data[i * step]);
    few.sort_unstable();
    let pivot = few[4];
    // What is smaller comes first, then what is equal.
    let smaller = partition(data, |x| x < pivot);
    let (left, rest) = data.split_at_mut(smaller);
    let equal = partition(rest, |x| x == pivot);
    J::join(|| quicksort::<J>(left), || quicksort::<J>(&mut rest[equal..]));
}

/// Puts what `is_first` says so of in front, and returns how many these are.
fn partition(data: &mut [u64], is_first: impl Fn(u64) -> bool) -> usize {
    let mut first = 0;
    for i in 0..data.len() {
        let goes = is_first(data[i]);
        data.swap(i, first);
        first += usize::from(goes);
    }
    first
}

fn mergesort<J: Join>(data: &mut [u64], spare: &mut [u64]) {
    if data.len() <= SHORT {
        return data.sort_unstable();
    }
    let middle = data.len() / 2;
    let (left, right) = data.split_at_mut(middle);
    let (spare_left, spare_right) = spare.split_at_mut(middle);
    J::join(|| mergesort::<J>(left, spare_left), || mergesort::<J>(right, spare_right));
    spare.copy_from_slice(data);
    let (left, right) = spare.split_at(middle);
    let (mut l, mut r) = (0, 0);
    for place in data {
        let from_left = r == right.len() || (l < left.len() && left[l] <= right[r]);
        *place = if from_left { left[l] } else { right[r] };
        l += usize::from(from_left);
        r += usize::from(!from_left);
    }
}

fn main() {
    let len = if compare::wanted() { 1 << 20 } else { 1 << 15 };
    let numbers: Vec<u64> = (0..len).map(|i| (compare::random(i) * 1e6) as u64).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    let ways: [(&str, Sort); 6] = [
        ("quicksort, one thread", |data, _| quicksort::<Alone>(data)),
        ("quicksort, Rayon", |data, _| quicksort::<Rayon>(data)),
        // The whole sort is a task, so that all its joins are on the bees' own queues.
        ("quicksort, hive", |data, _| hive::install(|| quicksort::<Hive>(data))),
        ("mergesort, one thread", mergesort::<Alone>),
        ("mergesort, Rayon", mergesort::<Rayon>),
        ("mergesort, hive", |data, spare| hive::install(|| mergesort::<Hive>(data, spare))),
    ];
    let (mut data, mut spare) = (numbers.clone(), numbers.clone());
    for (name, sort) in ways {
        data.copy_from_slice(&numbers);
        sort(&mut data, &mut spare);
        assert!(data == sorted, "{name}");
    }
    println!("{len} numbers sorted by {} bees, in two ways", hive::bees());
    if compare::wanted() {
        for three in ways.chunks_exact(3) {
            let mut runs: Vec<_> = three
                .iter()
                .map(|(name, sort)| {
                    let (mut data, mut spare, numbers) = (numbers.clone(), numbers.clone(), &numbers);
                    let run = move || {
                        data.copy_from_slice(numbers);
                        sort(&mut data, &mut spare);
                    };
                    (*name, run)
                })
                .collect();
            let mut ways: Vec<compare::Way<'_>> =
                runs.iter_mut().map(|(name, run)| (*name, run as &mut dyn FnMut())).collect();
            compare::compare("sorting by join", &mut ways);
        }
    }
}
