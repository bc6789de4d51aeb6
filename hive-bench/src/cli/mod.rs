//! The command line.

mod commands;
mod flags;
pub(crate) mod options;

use clap::Parser;

pub(crate) use commands::Command;
pub(crate) use flags::Flags;

/// Measure hive beside its rivals. Without arguments it runs what a user would choose a runtime by, in two minutes.
///
/// Exit codes: 0 if all is well, 1 if a measurement or a check failed (compare: if hive got slower), 2 for bad usage.
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::catalog::Case;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn lists_are_comma_separated() {
        let cli = Cli::parse_from(["hive-bench", "--case", "region,idle-2ms", "--threads", "1,2", "--rounds", "3"]);
        let cases: Vec<_> = cli.flags.case.into_iter().flat_map(|family| family.0).collect();
        assert_eq!(cases, [Case::Region, Case::Idle2ms]);
        assert_eq!(cli.flags.threads, [1, 2]);
        assert_eq!(cli.flags.rounds, Some(3));
        assert!(cli.command.is_none());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_flag_and_the_names() {
        let error = Cli::try_parse_from(["hive-bench", "--runtime", "tokio"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains("--runtime") && text.contains("rayon-worker"), "{text}");
    }
}
