//! Whether all ranks together compute the same bits as one process.

use super::problem::{Problem, Setting, Solver};

/// Solves the problem once more in the first rank, and compares there. Returns what to print; an error says what
/// differs.
pub(super) fn compare<P: Problem>(
    setting: Setting<'_>,
    problem: &P,
    solver: &impl Solver,
    sums: &[f64],
) -> Result<String, String> {
    let Some(values) = setting.ranks.gather(solver.answer()) else { return Ok(String::new()) };
    let alone = problem.alone(setting, sums.len())?;
    same("sum", sums, &alone.sums)?;
    same("value", &values, &alone.values)?;
    Ok(format!("check: {} sums and {} values have the same bits as in one process", sums.len(), values.len()))
}

fn same(what: &str, ours: &[f64], alone: &[f64]) -> Result<(), String> {
    if ours.len() != alone.len() {
        return Err(format!("check: {} {what}s, and {} in one process", ours.len(), alone.len()));
    }
    match ours.iter().zip(alone).position(|(ours, alone)| ours.to_bits() != alone.to_bits()) {
        Some(first) => {
            Err(format!("check: {what} {first} is {:e}, and {:e} in one process", ours[first], alone[first]))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bit_that_differs_is_reported() {
        assert_eq!(same("sum", &[1.0, f64::NAN], &[1.0, f64::NAN]), Ok(()));
        let next = 2.0_f64.next_up();
        let error = same("sum", &[1.0, 2.0, 3.0], &[1.0, next, 4.0]).unwrap_err();
        assert!(error.contains("sum 1 is 2e0, and 2.0000000000000004e0"), "{error}");
        assert!(same("value", &[0.0], &[-0.0]).is_err());
        assert!(same("value", &[0.0], &[]).unwrap_err().contains("1 values, and 0"));
    }
}
