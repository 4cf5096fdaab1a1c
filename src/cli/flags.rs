//! The library names options as its callers know them, `min_df`; on the command line they are flags, --min-df.

use clap::{Arg, Command};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Long flags by id.
struct Flags(HashMap<String, String>);

static FLAGS: OnceLock<Flags> = OnceLock::new();

/// Takes the flags of the program while `running` runs.
pub(super) fn start(program: &Command, running: &str) {
    FLAGS.get_or_init(|| Flags::of(program, running));
}

/// A message with flags for options; as it is before [`start`].
pub(crate) fn with_flags(message: &str) -> String {
    FLAGS.get().map_or_else(|| message.to_owned(), |flags| flags.put_into(message))
}

impl Flags {
    /// Those of the command that runs; for what it lacks, those of others: a corpus is read by many commands, and only one says how
    /// words are chosen.
    fn of(program: &Command, running: &str) -> Self {
        let others = program.get_subcommands().filter(|command| command.get_name() != running);
        let commands = others.chain([program]).chain(program.find_subcommand(running));
        // A command may have commands of its own.
        let commands = commands.flat_map(|command| command.get_subcommands().chain([command]));
        let flag = |arg: &Arg| Some((arg.get_id().to_string(), format!("--{}", arg.get_long()?)));
        Self(commands.flat_map(|command| command.get_arguments().filter_map(flag)).collect())
    }

    /// A clause about a field is about a file, which may have fields that are called like options.
    fn put_into(&self, message: &str) -> String {
        let clauses = message.split_inclusive(';').map(|clause| {
            if clause.contains("field `") {
                return clause.to_owned();
            }
            // What is between two backticks is at odd places; without a second one nothing is quoted.
            let parts: Vec<&str> = clause.split('`').collect();
            let mut text = String::with_capacity(clause.len());
            for (at, &part) in parts.iter().enumerate() {
                match self.0.get(part).filter(|_| at % 2 == 1 && at + 1 < parts.len()) {
                    Some(flag) => text += flag,
                    None if at % 2 == 0 => text += part,
                    None if at + 1 < parts.len() => text.extend(["`", part, "`"]),
                    None => text.extend(["`", part]),
                }
            }
            text
        });
        clauses.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::Flags;
    use clap::CommandFactory;

    #[test]
    fn options_become_flags_and_all_else_stays() {
        let flags = Flags::of(&Cli::command(), "train");
        for (message, shown) in [
            ("give the right `vocab`", "give the right --vocab"),
            ("use `step` em; raise `device_mb`", "use --step em; raise --device-mb"),
            ("raise `max_alternations`", "raise --estep-max"),
            (
                "`min_df` is of another command, `threads` of all",
                "--min-df is of another command, --threads of all",
            ),
            ("the starts `greedy` and `best`", "the starts `greedy` and `best`"),
            ("a lone ` and `vocab`", "a lone ` and `vocab`"),
            ("`vocab` and a lone `", "--vocab and a lone `"),
            ("missing field `topics`, a list", "missing field `topics`, a list"),
            (
                "unknown field `x`, expected one of `format`, `topics`",
                "unknown field `x`, expected one of `format`, `topics`",
            ),
            ("unknown field `x`; give `format`", "unknown field `x`; give --format"),
            ("", ""),
        ] {
            assert_eq!(flags.put_into(message), shown);
        }
    }

    #[test]
    fn an_option_has_one_flag_in_all_commands() {
        let program = Cli::command();
        let mut flags = std::collections::HashMap::new();
        for command in program.get_subcommands() {
            for arg in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
                let other = flags.insert(arg.get_id().to_string(), arg.get_long());
                assert!(other.is_none_or(|other| other == arg.get_long()), "{arg:?}");
            }
        }
    }
}
