//! `wardian login` and `wardian logout`: store and remove the API token of a host.

use std::path::Path;
use std::process::{Command, Stdio};

use async_trait::async_trait;
use wardian_app::sentence;
use wardian_download::NetworkAccess;
use wardian_printable::{PrintableText, printable};
use wardian_registry::credentials::{CredentialStorage, Credentials, CredentialsError};
use wardian_registry::login::{BrowserLogin, LoginError, LoginMethod, PasswordLogin, TokenPage};
use wardian_registry::{AccessToken, RegistryClient, ServiceHost};

use crate::arguments::{LoginArguments, LogoutArguments};
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::{OutputKind, Paint, Shell, ViewOptions};

/// Programs that open a URL in the user's browser, in the order in which they are tried.
#[cfg(target_os = "macos")]
const BROWSERS: [&str; 1] = ["open"];
#[cfg(not(target_os = "macos"))]
const BROWSERS: [&str; 3] = ["xdg-open", "x-www-browser", "www-browser"];

const RULE: &str = "\n---------------------------------------------------------------------------------\n";

#[async_trait(?Send)]
impl CommandSpec for LoginArguments {
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
        log_in(context, &service_host(&self.host)?).await
    }
}

#[async_trait(?Send)]
impl CommandSpec for LogoutArguments {
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
        log_out(context, &service_host(&self.host)?).await
    }
}

fn service_host(text: &str) -> Outcome<ServiceHost> {
    ServiceHost::parse(text).map_err(|error| {
        let detail = format!("{} Specify a host such as app.terraform.io.", sentence(&error.to_string()));
        Failure::error("Invalid hostname", detail)
    })
}

async fn log_in(context: &CommandContext, host: &ServiceHost) -> Outcome {
    let shell = &context.shell;
    if !shell.can_read_answer() {
        let detail = "A login must be confirmed interactively. Run the command on a terminal, or configure \
                      a token with a TF_TOKEN_ variable or a credentials block.";
        return Err(Failure::error("Login is an interactive command", detail));
    }
    let registry = context.app.network(NetworkAccess::Online)?.registry;
    let credentials = registry.credentials();
    let storage = credentials.storage(host).await.map_err(|error| cannot_store(&error))?;
    let method = registry.login_method(host).await.map_err(|error| login_failure(&error))?;
    if !confirmed(shell, host, &method, &storage).await? {
        return Err(Failure::error(
            "Login cancelled",
            "The login was not confirmed, so nothing was changed.",
        ));
    }
    // Ctrl-C ends the process: nothing is stored before the token is known.
    let token = obtain(shell, &registry, host, method).await?;
    store(credentials, host, &token).await?;
    let headline = match &storage {
        CredentialStorage::Helper { name } => {
            printable!("Success! The credentials helper \"{name}\" has stored the API token.")
        }
        _ => printable!("Success! {} has obtained and saved an API token.", shell.product().name()),
    };
    shell.say(printable!("{RULE}\n{}", shell.paint(Paint::Success, headline)));
    shell.say(shell.wrapped(&printable!(
        "The new API token is used by every command that makes authenticated requests to {host}."
    )));
    Ok(Status::Success)
}

async fn confirmed(
    shell: &Shell,
    host: &ServiceHost,
    method: &LoginMethod,
    storage: &CredentialStorage,
) -> Outcome<bool> {
    let name = shell.product().name();
    let procedure = match method {
        LoginMethod::Browser(_) => printable!(
            "{name} will request an API token for {host} using OAuth. This requires a web browser on this machine. \
             Without one, obtain a token by other means and configure it in the CLI configuration."
        ),
        LoginMethod::Password(_) => {
            printable!("{name} will request an API token for {host} with your user name and password.")
        }
        LoginMethod::TokenPage(_) => {
            printable!(
                "{name} will ask for an API token for {host}, which you create on a page of that host."
            )
        }
    };
    shell.say(shell.wrapped(&procedure));
    shell.say(match storage {
        CredentialStorage::File(path) => printable!(
            "\nIf login is successful, {name} will store the token in plain text in\nthe following file for use by \
             subsequent commands:\n    {}",
            path.display()
        ),
        CredentialStorage::Helper { name: helper } => printable!(
            "\nIf login is successful, {name} will store the token with the configured\n\"{helper}\" credentials \
             helper."
        ),
        _ => PrintableText::new(),
    });
    let question = printable!(
        "\n{}\n  Only 'yes' will be accepted to confirm.\n\n  {} ",
        shell.paint(Paint::Bold, "Do you want to proceed?"),
        shell.paint(Paint::Bold, "Enter a value:")
    );
    let answer = shell.ask(question).await.map_err(|error| no_answer(&error))?;
    Ok(answer.is_some_and(|answer| answer.trim() == "yes"))
}

async fn obtain(
    shell: &Shell,
    registry: &RegistryClient,
    host: &ServiceHost,
    method: LoginMethod,
) -> Outcome<AccessToken> {
    match method {
        LoginMethod::Browser(login) => with_browser(shell, host, login).await,
        LoginMethod::Password(login) => with_password(shell, host, &login).await,
        LoginMethod::TokenPage(page) => with_token(shell, registry, host, &page).await,
    }
}

async fn with_browser(shell: &Shell, host: &ServiceHost, login: BrowserLogin) -> Outcome<AccessToken> {
    let pending = login.start().await.map_err(|error| login_failure(&error))?;
    let (name, url) = (shell.product().name(), pending.url().to_string());
    let opens = open_browser(&url);
    let instruction = if opens {
        printable!(
            "{name} must now open a web browser to the login page for {host}.\n\nIf a browser does not open this \
             automatically, open the following URL to proceed:\n    {url}"
        )
    } else {
        printable!("Open the following URL to access the login page for {host}:\n    {url}")
    };
    shell.say(printable!("{RULE}\n{instruction}\n"));
    shell.say(printable!("{name} will now wait for the host to signal that login was successful."));
    pending.wait().await.map_err(|error| login_failure(&error))
}

async fn with_password(shell: &Shell, host: &ServiceHost, login: &PasswordLogin) -> Outcome<AccessToken> {
    shell.say(RULE);
    let user = shell.ask(printable!("Username for {host}: ")).await.map_err(|error| no_answer(&error))?;
    let password =
        shell.ask_secret(printable!("Password for {host}: ")).await.map_err(|error| no_answer(&error))?;
    let (Some(user), Some(password)) = (user, password) else {
        return Err(Failure::error("Login cancelled", "No user name and password were entered."));
    };
    login.log_in(user.trim(), &password).await.map_err(|error| login_failure(&error))
}

async fn with_token(
    shell: &Shell,
    registry: &RegistryClient,
    host: &ServiceHost,
    page: &TokenPage,
) -> Outcome<AccessToken> {
    let url = page.url.to_string();
    let opens = open_browser(&url);
    let instruction = if opens {
        "Create a token in the browser. If the page does not open automatically, open this URL:"
    } else {
        "Create a token on this page:"
    };
    shell.say(printable!("{RULE}\n{}\n    {url}\n", PrintableText::from(instruction)));
    let question = printable!("Token for {host}:\n  {} ", shell.paint(Paint::Bold, "Enter a value:"));
    let entered = shell.ask_secret(question).await.map_err(|error| no_answer(&error))?;
    let entered = entered.unwrap_or_default();
    let token = AccessToken::new(entered.trim())
        .map_err(|error| Failure::error("Token is invalid", sentence(&error.to_string())))?;
    let owner = registry.token_owner(host, &token).await.map_err(|error| login_failure(&error))?;
    shell.say(printable!("\nRetrieved token for user {}", shell.paint(Paint::Bold, printable!("{owner}"))));
    Ok(token)
}

async fn log_out(context: &CommandContext, host: &ServiceHost) -> Outcome {
    let shell = &context.shell;
    let registry = context.app.network(NetworkAccess::Online)?.registry;
    let removed = registry.credentials().forget(host).await.map_err(|error| {
        let detail = sentence(&error.to_string());
        Failure::error("Failed to remove API token", detail)
    })?;
    let text = match removed {
        None => printable!("No credentials for {host} are stored."),
        Some(CredentialStorage::File(path)) => {
            printable!("Removed the credentials for {host} from {}.", path.display())
        }
        Some(CredentialStorage::Helper { name }) => {
            printable!("The credentials helper \"{name}\" removed the credentials for {host}.")
        }
        Some(_) => printable!("Removed the credentials for {host}."),
    };
    shell.say(shell.wrapped(&text));
    if shell.product().is_own() {
        return Ok(Status::Success);
    }
    shell.say(shell.paint(
        Paint::Success,
        printable!("\nSuccess! {} has removed the stored API token for {host}.", shell.product().name()),
    ));
    Ok(Status::Success)
}

async fn store(credentials: &Credentials, host: &ServiceHost, token: &AccessToken) -> Outcome<()> {
    credentials.store(host, token).await.map(drop).map_err(|error| cannot_store(&error))
}

/// Opens a URL in the user's browser. Returns whether a program for this was started.
fn open_browser(url: &str) -> bool {
    BROWSERS.iter().any(|program| {
        let mut command = Command::new(Path::new(program));
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The browser continues to run after this command, so it is not awaited.
        command.spawn().is_ok()
    })
}

fn cannot_store(error: &CredentialsError) -> Failure {
    Failure::error(error.summary(), sentence(&error.to_string()))
}

fn login_failure(error: &LoginError) -> Failure {
    Failure::error(error.summary(), sentence(&error.to_string()))
}

fn no_answer(error: &std::io::Error) -> Failure {
    Failure::error("No answer", format!("The answer cannot be read: {error}."))
}
