//! How many threads the teams have.

use std::collections::BTreeSet;

/// The size of a team, which `flag` names.
pub(crate) fn checked_size(flag: &str, size: usize, most: usize) -> Result<usize, String> {
    if (1..=most).contains(&size) {
        return Ok(size);
    }
    Err(format!("{flag} {size}: this process may use {most} CPUs, so a team has 1 to {most} threads"))
}

/// One, every power of two up to the CPUs at hand, and all of them.
pub(crate) fn default_sizes(most: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        std::iter::successors(Some(1), |size| Some(size * 2)).take_while(|size| *size < most).collect();
    sizes.push(most.max(1));
    sizes
}

/// The sizes of teams that a flag names, in ascending order, or without it those by default.
pub(crate) fn chosen_sizes(flag: &str, chosen: &[usize], most: usize) -> Result<Vec<usize>, String> {
    if chosen.is_empty() {
        return Ok(default_sizes(most));
    }
    let sizes: Result<BTreeSet<_>, _> = chosen.iter().map(|&size| checked_size(flag, size, most)).collect();
    Ok(sizes?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_and_all() {
        assert_eq!(default_sizes(1), [1]);
        assert_eq!(default_sizes(2), [1, 2]);
        assert_eq!(default_sizes(6), [1, 2, 4, 6]);
        assert_eq!(default_sizes(8), [1, 2, 4, 8]);
    }
}
