//! The lines that `init` prints. Terraform's and OpenTofu's lines are reproduced literally, because
//! tools search for them. In JSON messages, a code identifies each step.

use wardian_address::{Constraints, ProviderAddress};
use wardian_install::network_source::{PackageAuthentication, PackageSigner};
use wardian_install::package::{PluginArtifact, PluginOrigin};
use wardian_install::selection::{LockChange, SelectedPlugin, Selection, SelectionReason};
use wardian_printable::{PrintableText, printable};

use crate::shell::{InitStep, Paint, Shell};

/// Announces a step.
pub(super) fn step(shell: &Shell, step: InitStep) {
    let text = match step {
        InitStep::StateStore => "Initializing the provider of the state store...",
        InitStep::Backend => "Initializing the backend...",
        InitStep::Modules => "Initializing modules...",
        InitStep::ModuleUpgrade => "Upgrading modules...",
        InitStep::Providers => "Initializing provider plugins...",
        InitStep::LockFileCreated
        | InitStep::LockFileChanged
        | InitStep::Success
        | InitStep::NextSteps
        | InitStep::EmptyDirectory => return,
    };
    shell.init_output(step, shell.paint(Paint::Bold, text));
}

/// Returns Wardian's own text, wrapped, or the literal text of the product under whose name the
/// program runs.
fn own_or_literal(shell: &Shell, own: &PrintableText, literal: PrintableText) -> PrintableText {
    if shell.product().is_own() { shell.wrapped(own) } else { literal }
}

/// Reports an empty directory.
pub(super) fn empty_directory(shell: &Shell) {
    let product = shell.product();
    let (name, command) = (product.name(), product.command());
    let headline = if product.is_own() {
        PrintableText::from("Nothing to initialize: the directory has no configuration.")
    } else {
        printable!("{name} initialized in an empty directory!")
    };
    let explanation = own_or_literal(
        shell,
        &printable!("This directory has no .tf files. Add a file, and run `{command} init` again."),
        printable!(
            "The directory has no {name} configuration files. You may begin working\nwith {name} immediately by \
             creating {name} configuration files."
        ),
    );
    shell.init_output(
        InitStep::EmptyDirectory,
        printable!("{}\n\n{explanation}", shell.paint(Paint::Bold, headline)),
    );
}

/// Reports how a provider's version is selected. Only Terraform's and OpenTofu's output has this
/// step; in Wardian's output, the line for the installed plugin contains the reason for the
/// selection.
pub(super) fn search(
    shell: &Shell,
    address: &ProviderAddress,
    chosen: &SelectedPlugin,
    constraints: &Constraints,
) {
    let name = address.for_display();
    let line = match (shell.is_for_programs(), chosen.reason) {
        (false, _) if shell.product().is_own() => return,
        (true, SelectionReason::Locked) => {
            printable!("{name}: Reusing previous version from the dependency lock file")
        }
        (true, SelectionReason::NewestMatching) => printable!(
            "Finding matching versions for provider: {name}, version_constraint: \"{constraints}\""
        ),
        (true, SelectionReason::Newest) => printable!("{name}: Finding latest version..."),
        (false, SelectionReason::Locked) => {
            printable!("- Reusing previous version of {name} from the dependency lock file")
        }
        (false, SelectionReason::NewestMatching) => {
            printable!("- Finding {name} versions matching \"{constraints}\"...")
        }
        (false, SelectionReason::Newest) => printable!("- Finding latest version of {name}..."),
    };
    shell.say(line);
}

/// Reports an installed plugin.
pub(super) fn installed(shell: &Shell, address: &ProviderAddress, chosen: &SelectedPlugin) {
    let (name, version, origin) = (address.for_display(), &chosen.version, origin(chosen));
    if shell.product().is_own() && !shell.is_for_programs() {
        let reason = match chosen.reason {
            SelectionReason::Locked => "as locked",
            SelectionReason::NewestMatching => "the newest that the configuration allows",
            SelectionReason::Newest => "the newest available",
        };
        let line = printable!("- {name} v{version}, {reason} ({origin})");
        shell.say(shell.wrapped_item(&line));
        return;
    }
    let is_present = match chosen.artifact.origin() {
        PluginOrigin::Downloaded(_) | PluginOrigin::Cached(_) => false,
        PluginOrigin::Embedded
        | PluginOrigin::Mirror(_)
        | PluginOrigin::Installed(_)
        | PluginOrigin::DevelopmentOverride(_) => chosen.reason == SelectionReason::Locked,
    };
    if let PluginOrigin::Cached(_) = chosen.artifact.origin() {
        shell.say(if shell.is_for_programs() {
            printable!("{name} v{version}: Using {name} v{version} from the shared cache directory")
        } else {
            printable!("- Using {name} v{version} from the shared cache directory")
        });
        return;
    }
    let authentication = chosen.shown_authentication().map(|authentication| printable!("{authentication}"));
    let origin = authentication.unwrap_or(origin);
    match (shell.is_for_programs(), is_present) {
        (true, true) => {
            shell.say(printable!("{name} v{version}: Using previously-installed provider version"));
        }
        (false, true) => shell.say(printable!("- Using previously-installed {name} v{version}")),
        (true, false) => {
            shell.say(printable!("Installing provider version: {name} v{version}..."));
            shell.say(printable!("Installed provider version: {name} v{version} ({origin})"));
        }
        (false, false) => {
            shell.say(printable!("- Installing {name} v{version}..."));
            shell.say(printable!("- Installed {name} v{version} ({origin})"));
        }
    }
}

fn origin(chosen: &SelectedPlugin) -> PrintableText {
    let kind = match chosen.artifact {
        PluginArtifact::Component(_) => "component",
        PluginArtifact::Native(_) => "native program",
    };
    match chosen.artifact.origin() {
        PluginOrigin::Embedded => printable!("embedded {kind}"),
        PluginOrigin::Mirror(location) if chosen.reason == SelectionReason::Locked => {
            printable!("{kind} from {}", location.path().display())
        }
        PluginOrigin::Mirror(location) => {
            printable!("{kind} from {}, unauthenticated", location.path().display())
        }
        PluginOrigin::Downloaded(_) => match &chosen.authentication {
            Some(authentication) => printable!("{kind}, {authentication}{}", expiry(authentication)),
            None => PrintableText::from(kind),
        },
        PluginOrigin::Cached(path) => printable!("{kind} from the plugin cache {}", path.display()),
        PluginOrigin::Installed(path) => printable!("{kind} installed previously, in {}", path.display()),
        PluginOrigin::DevelopmentOverride(path) => {
            printable!("{kind} under development, in {}", path.display())
        }
    }
}

/// Returns a remark about an expired key. Terraform accepts such keys, because the registry
/// publishes them.
fn expiry(authentication: &PackageAuthentication) -> &'static str {
    match authentication {
        PackageAuthentication::Signed { is_expired: true, .. } => ", the key has expired",
        _ => "",
    }
}

/// Explains self-signed plugins, as Terraform does.
pub(super) fn signing(shell: &Shell, selection: &Selection) {
    let is_third_party = selection.plugins.values().any(|chosen| {
        matches!(
            chosen.authentication,
            Some(PackageAuthentication::Signed {
                signer: PackageSigner::Partner | PackageSigner::SelfSigned,
                ..
            })
        )
    });
    if !is_third_party {
        return;
    }
    let own =
        "Partner and community providers are signed by their developers. The registry publishes the keys.";
    let literal = printable!(
        "Partner and community providers are signed by their developers.\nIf you'd like to know more about \
         provider signing, you can read about it here:\nhttps://www.terraform.io/docs/cli/plugins/signing.html"
    );
    shell.say(own_or_literal(shell, &own.into(), literal));
}

/// Reports a change to the lock file.
pub(super) fn lock_file(shell: &Shell, change: LockChange) {
    let product = shell.product();
    let (name, command) = (product.name(), product.command());
    let step = match change {
        LockChange::Unchanged => return,
        LockChange::Created => InitStep::LockFileCreated,
        LockChange::DetailsChanged | LockChange::Changed => InitStep::LockFileChanged,
    };
    let (own, literal) = if step == InitStep::LockFileCreated {
        (
            "The selected versions are recorded in the lock file .terraform.lock.hcl. Keep it under version \
             control to give everyone the same plugins.",
            printable!(
                "{name} has created a lock file .terraform.lock.hcl to record the provider\nselections it made \
                 above. Include this file in your version control repository\nso that {name} can guarantee to \
                 make the same selections by default when\nyou run \"{command} init\" in the future."
            ),
        )
    } else {
        (
            "The lock file .terraform.lock.hcl has changed. Review the change and keep it under version control.",
            printable!(
                "{name} has made some changes to the provider dependency selections recorded\nin the \
                 .terraform.lock.hcl file. Review those changes and commit them to your\nversion control system \
                 if they represent changes you intended to make."
            ),
        )
    };
    let blank = if product.is_own() { "\n" } else { "" };
    let text = own_or_literal(shell, &own.into(), literal);
    shell.init_output(step, printable!("{}{text}", PrintableText::from(blank)));
}

/// Reports success, and the next steps.
pub(super) fn success(shell: &Shell, suggests_next_steps: bool) {
    let product = shell.product();
    let (name, command) = (product.name(), product.command());
    let headline = printable!("{name} has been successfully initialized!");
    shell.init_output(InitStep::Success, printable!("\n{}", shell.paint(Paint::Success, headline)));
    if !suggests_next_steps {
        return;
    }
    let next = own_or_literal(
        shell,
        &printable!("Next, see the planned changes with `{command} plan`."),
        printable!(
            "You may now begin working with {name}. Try running \"{command} plan\" to see\nany changes that are \
             required for your infrastructure. All {name} commands\nshould now work."
        ),
    );
    let later = own_or_literal(
        shell,
        &printable!(
            "Whenever you change module calls, providers or their versions, run `{command} init` again. Other \
             commands will remind you when it is needed."
        ),
        printable!(
            "If you ever set or change modules or backend configuration for {name},\nrerun this command to \
             reinitialize your working directory. If you forget, other\ncommands will detect it and remind you \
             to do so if necessary."
        ),
    );
    shell.init_output(InitStep::NextSteps, printable!("\n{next}\n\n{later}"));
}
