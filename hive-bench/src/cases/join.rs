//! Joins down to the last leaf: what a join costs when there is nothing to do between two of them.

use crate::kernels::joins::{self, InOrder, Tree, fib_by_adding, joins_of_fib};
use crate::kernels::search::{self, Node};
use crate::measure::timing;
use crate::record::Budget;
use crate::record::Measured;
use crate::runtimes::tasks::Tasks;

/// Ten layers: 1,023 nodes.
const LAYERS: u32 = 10;

/// The nodes of the list that is the comb's back, and the layers of the tree at each: 127 nodes.
const TEETH: u32 = 200;
const LAYERS_OF_TOOTH: u32 = 7;

pub(crate) fn fib(runtime: &mut impl Tasks, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let n = budget.fib;
    check("fib", runtime.fib(n / 2)?, fib_by_adding(n / 2))?;
    measured.samples = timing::runs(budget, joins_of_fib(n), || check("fib", runtime.fib(n)?, fib_by_adding(n)))?;
    Ok(())
}

pub(crate) fn tree(runtime: &mut impl Tasks, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    sums(runtime, &Tree::full(LAYERS), budget, measured)
}

pub(crate) fn comb(runtime: &mut impl Tasks, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    sums(runtime, &Tree::comb(TEETH, LAYERS_OF_TOOTH), budget, measured)
}

fn sums(runtime: &mut impl Tasks, tree: &Tree, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let right_sum = joins::sum(InOrder, tree);
    let mut outcome = Ok(());
    measured.samples = timing::batches(budget, |times| {
        let sum = runtime.tree_sums(tree, times);
        let right = sum.and_then(|sum| check("the sum", sum, times * right_sum));
        outcome = outcome.clone().and(right);
    });
    outcome
}

pub(crate) fn tree_search(runtime: &mut impl Tasks, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let root = Node::root(budget.search_depth);
    let nodes = search::count(InOrder, root);
    // A warm-up, no longer than necessary.
    runtime.search(Node::root(budget.search_depth / 2))?;
    measured.samples = timing::runs(budget, nodes, || check("the number of nodes", runtime.search(root)?, nodes))?;
    Ok(())
}

fn check(what: &str, is: u64, should_be: u64) -> Result<(), String> {
    if is == should_be { Ok(()) } else { Err(format!("wrong answer: {what} is {is}, not {should_be}")) }
}
