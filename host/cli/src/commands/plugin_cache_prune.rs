//! `wardian plugin cache prune`: removes packages from the plugin cache.

use async_trait::async_trait;
use wardian_diagnostic::system_reason;
use wardian_install::package_cache::{CachedPackage, PackageCache};
use wardian_printable::printable;

use crate::arguments::PluginCachePruneArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::{OutputKind, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for PluginCachePruneArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

fn run(context: &CommandContext, arguments: &PluginCachePruneArguments) -> Outcome {
    let Some(cache) = context.app.plugin_cache()? else {
        return Err(Failure::error(
            "No plugin cache",
            "Neither plugin_cache_dir in the CLI configuration nor TF_PLUGIN_CACHE_DIR names a plugin cache.",
        ));
    };
    let packages = cache.packages().map_err(|error| {
        let path = cache.root().display();
        Failure::error(
            "Plugin cache cannot be read",
            format!("The plugin cache {path} cannot be read: {}.", system_reason(&error)),
        )
    })?;
    let mut size: u64 = packages.iter().map(|package| package.size).sum();
    let mut removed = 0;
    for package in &packages {
        if size <= arguments.max_size {
            break;
        }
        if !arguments.dry_run {
            remove(package)?;
        }
        size -= package.size;
        removed += 1;
        let verb = if arguments.dry_run { "Would remove" } else { "Removed" };
        let (name, megabytes) = (&package.name, megabytes(package.size));
        context.shell.say(printable!("- {verb} {name} ({megabytes} MB)"));
    }
    let remaining = packages.len() - removed;
    context.shell.say(printable!(
        "{remaining} of {} packages remain ({} MB).",
        packages.len(),
        megabytes(size)
    ));
    Ok(Status::Success)
}

fn remove(package: &CachedPackage) -> Outcome<()> {
    PackageCache::remove(package).map_err(|error| {
        let path = package.directory.display();
        Failure::error(
            "Cached package cannot be removed",
            format!("The directory {path} cannot be removed: {}.", system_reason(&error)),
        )
    })
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{}", tenths / 10, tenths % 10)
}
