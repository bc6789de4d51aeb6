//! Cases as `--case` names them: one by its name, or all whose names begin alike.

use std::str::FromStr;

use super::Case;

/// What one name on the command line stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family(pub(crate) Vec<Case>);

impl FromStr for Family {
    type Err = String;

    /// A whole name stands for that case alone, even if the names of other cases go on from it with a dash.
    fn from_str(name: &str) -> Result<Self, String> {
        let chosen = |fits: &dyn Fn(&str) -> bool| -> Vec<Case> {
            Case::ALL.iter().copied().filter(|case| fits(case.name())).collect()
        };
        let alone = chosen(&|case| case == name);
        let family = chosen(&|case| case.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')));
        match (alone.is_empty(), family.is_empty()) {
            (false, _) => Ok(Self(alone)),
            (true, false) => Ok(Self(family)),
            (true, true) => {
                let names: Vec<_> = Case::ALL.iter().map(|case| case.name()).collect();
                Err(format!("no such case; there are {}, and their names up to a dash", names.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(name: &str) -> Vec<Case> {
        name.parse::<Family>().unwrap().0
    }

    #[test]
    fn a_name_up_to_a_dash_is_all_that_begin_so() {
        assert_eq!(family("join"), [Case::JoinFib, Case::JoinTree, Case::JoinComb]);
        assert_eq!(family("wake"), Case::WAKE);
        assert_eq!(family("idle-use"), Case::IDLE_USE);
        assert_eq!(family("spawn").len(), 3);
        assert!(family("idle").starts_with(&[Case::Idle100us]) && family("idle").ends_with(&Case::IDLE_USE));
    }

    #[test]
    fn a_whole_name_is_one_case() {
        assert_eq!(family("jacobi"), [Case::Jacobi]);
        assert_eq!(family("wake-1ms"), [Case::Wake1ms]);
    }

    #[test]
    fn the_error_for_an_unknown_name_lists_all_names() {
        for wrong in ["regoin", "", "wak", "wake-", "wake-1"] {
            let error = wrong.parse::<Family>().unwrap_err();
            assert!(error.contains("region") && error.contains("tree-search"), "{error}");
        }
    }
}
