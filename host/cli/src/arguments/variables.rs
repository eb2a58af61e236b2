//! `-var` and `-var-file`: two options whose relative order matters.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use wardian_access::ProtectedClass;
use wardian_app::protected_files::NamedFile;

/// One `-var` or `-var-file` option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VariableArgument {
    /// `-var`, as it was given.
    Text(String),
    /// `-var-file`.
    File(PathBuf),
}

/// All of these options, in command line order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VariableArguments(pub(crate) Vec<VariableArgument>);

impl VariableArguments {
    /// Returns the files that options name.
    pub(crate) fn named_files(&self) -> impl Iterator<Item = NamedFile> {
        self.0.iter().filter_map(|argument| match argument {
            VariableArgument::Text(_) => None,
            VariableArgument::File(path) => Some((ProtectedClass::Variables, path.clone())),
        })
    }
}

impl Args for VariableArguments {
    fn augment_args(command: Command) -> Command {
        command
            .arg(
                Arg::new("var")
                    .long("var")
                    .value_name("NAME=VALUE")
                    .action(ArgAction::Append)
                    .help("Set a variable of the root module. Repeatable"),
            )
            .arg(
                Arg::new("var-file")
                    .long("var-file")
                    .value_name("PATH")
                    .value_parser(clap::value_parser!(OsString))
                    .action(ArgAction::Append)
                    .help(
                        "Read values of variables from a file, in addition to terraform.tfvars and \
                         *.auto.tfvars. Repeatable",
                    ),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for VariableArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found: Vec<(usize, VariableArgument)> = Vec::new();
        let texts = matches.get_many::<String>("var").into_iter().flatten();
        let places = matches.indices_of("var").into_iter().flatten();
        found.extend(places.zip(texts.map(|text| VariableArgument::Text(text.clone()))));
        let files = matches.get_many::<OsString>("var-file").into_iter().flatten();
        let places = matches.indices_of("var-file").into_iter().flatten();
        found.extend(places.zip(files.map(|file| VariableArgument::File(file.into()))));
        found.sort_by_key(|(place, _)| *place);
        Ok(Self(found.into_iter().map(|(_, argument)| argument).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
