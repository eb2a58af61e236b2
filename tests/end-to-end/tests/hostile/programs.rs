//! Attacks on granted programs: their environment, working directory and lookup.

use crate::attack::{Outcome, Table, Verdict, ensure, escaped_if};
use crate::lab::{HOSTILE, Lab, PROVISIONER, SECRET, grant, program};

const CLONE: [&str; 4] = ["clone", "--", "https://git.example.com/platform/*", "..."];

pub fn attacks() -> Table {
    let mut table = Table::new("programs");
    git(&mut table);
    loader(&mut table);
    interpreters(&mut table);
    tools(&mut table);
    directories(&mut table);
    table
}

/// Runs programs in the provisioner. The goal is the file `marker`, which no granted command
/// creates.
fn leaves_marker(lab: &Lab, steps: &[&str]) -> Outcome {
    let run = lab.provision(steps)?;
    ensure(run.says("ran with") || run.says("refused"), || run.text())?;
    escaped_if(lab.has("marker") || lab.has("sub/marker"), "a command ran that no rule grants")
}

/// Adds an attack that runs one granted program with variables.
fn runs(table: &mut Table, name: &str, granted: (&'static str, &'static [&'static str]), step: &'static str) {
    table.add(name, move || {
        let lab = Lab::new()?;
        lab.policy(&program(granted.0, granted.1));
        leaves_marker(&lab, &["honest", step])
    });
}

/// Adds an attack with a file that another plugin wrote.
fn with_file(
    table: &mut Table,
    name: &str,
    granted: (&'static str, &'static [&'static str]),
    files: &'static [(&'static str, &'static str)],
    step: &'static str,
) {
    table.add(name, move || {
        let lab = Lab::new()?;
        lab.policy(&format!("{}{}", program(granted.0, granted.1), grant(HOSTILE, &["out"])));
        lab.make("out")?;
        let mut steps = Vec::new();
        for (path, content) in files {
            if let Some((directory, _)) = path.rsplit_once('/') {
                steps.push(format!("make-all¦{directory}"));
            }
            steps.push(format!("write¦{path}¦{content}"));
            steps.push(format!("set-mode¦755¦{path}"));
        }
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        lab.probe(&steps)?;
        for (path, content) in files {
            let is_written = lab.read(path) == *content;
            // Policy protects Git's files, so the attack fails earlier.
            if !is_written && path.contains(".git") {
                return Ok(Verdict::Held);
            }
            ensure(is_written, || format!("{path} was not written"))?;
        }
        let work = lab.path("").display().to_string();
        let step = step.replace("WORK", work.trim_end_matches('/'));
        leaves_marker(&lab, &["honest", &step])
    });
}

fn git(table: &mut Table) {
    const GIT: (&str, &[&str]) = ("git", &CLONE);
    runs(
        table,
        "git-config-count",
        GIT,
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_ALLOW_PROTOCOL=ext:https¦+GIT_CONFIG_COUNT=1¦+GIT_CONFIG_KEY_0=url.ext::sh -c touch% marker% #.insteadOf¦+GIT_CONFIG_VALUE_0=https://git.example.com/platform/",
    );
    runs(
        table,
        "git-config-parameters",
        GIT,
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_ALLOW_PROTOCOL=ext:https¦+GIT_CONFIG_PARAMETERS='url.ext::sh -c touch% marker% #.insteadOf=https://git.example.com/platform/'",
    );
    runs(
        table,
        "git-protocol-from-configuration",
        GIT,
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_CONFIG_COUNT=2¦+GIT_CONFIG_KEY_0=url.ext::sh -c touch% marker% #.insteadOf¦+GIT_CONFIG_VALUE_0=https://git.example.com/platform/¦+GIT_CONFIG_KEY_1=protocol.ext.allow¦+GIT_CONFIG_VALUE_1=always",
    );
    runs(
        table,
        "git-ssh-command",
        GIT,
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_SSH_COMMAND=touch marker; false¦+GIT_CONFIG_COUNT=1¦+GIT_CONFIG_KEY_0=url.ssh://git.example.com/.insteadOf¦+GIT_CONFIG_VALUE_0=https://git.example.com/platform/",
    );
    runs(
        table,
        "git-core-ssh-command",
        GIT,
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_CONFIG_COUNT=2¦+GIT_CONFIG_KEY_0=url.ssh://git.example.com/.insteadOf¦+GIT_CONFIG_VALUE_0=https://git.example.com/platform/¦+GIT_CONFIG_KEY_1=core.sshCommand¦+GIT_CONFIG_VALUE_1=touch marker; false",
    );
    with_file(
        table,
        "git-proxy-command",
        GIT,
        &[("out/proxy", "#!/bin/sh\ntouch marker\n")],
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_PROXY_COMMAND=WORK/out/proxy¦+GIT_CONFIG_COUNT=1¦+GIT_CONFIG_KEY_0=url.git://git.example.com/.insteadOf¦+GIT_CONFIG_VALUE_0=https://git.example.com/platform/",
    );
    runs(
        table,
        "git-trace-writes-a-file",
        GIT,
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_TRACE=/proc/self/cwd/marker",
    );
    runs(
        table,
        "git-trace2-writes-a-file",
        GIT,
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_TRACE2_EVENT=/proc/self/cwd/marker",
    );
    runs(
        table,
        "git-named-twice",
        GIT,
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_CONFIG_COUNT=0¦+GIT_TRACE=/proc/self/cwd/marker¦+GIT_TRACE=/proc/self/cwd/marker",
    );
    const CONFIGURATION: &str = "[protocol \"ext\"]\n  allow = always\n[url \"ext::sh -c touch% marker% #\"]\n  insteadOf = https://git.example.com/platform/\n";
    with_file(
        table,
        "git-home",
        GIT,
        &[("out/.gitconfig", CONFIGURATION)],
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+HOME=WORK/out",
    );
    with_file(
        table,
        "git-xdg-config-home",
        GIT,
        &[("out/git/config", CONFIGURATION)],
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+XDG_CONFIG_HOME=WORK/out",
    );
    with_file(
        table,
        "git-config-global",
        GIT,
        &[("out/innocent", CONFIGURATION)],
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_CONFIG_GLOBAL=WORK/out/innocent",
    );
    with_file(
        table,
        "git-config-system",
        GIT,
        &[("out/innocent", CONFIGURATION)],
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_CONFIG_SYSTEM=WORK/out/innocent",
    );
    with_file(
        table,
        "git-exec-path",
        GIT,
        &[("out/git-remote-https", "#!/bin/sh\ntouch marker\n")],
        "spawn¦git¦clone¦--¦https://git.example.com/platform/x¦+GIT_EXEC_PATH=WORK/out",
    );
    with_file(
        table,
        "git-template-hooks",
        ("git", &["init", "--", "repository"]),
        &[("out/hooks/post-checkout", "#!/bin/sh\ntouch marker\n")],
        "spawn¦git¦init¦--¦repository¦+GIT_TEMPLATE_DIR=WORK/out¦+GIT_TRACE=/proc/self/cwd/marker",
    );
}

fn loader(table: &mut Table) {
    const ECHO: (&str, &[&str]) = ("/bin/echo", &["*"]);
    for (name, step) in [
        ("loader-debug-output", "spawn¦/bin/echo¦x¦+LD_DEBUG=files¦+LD_DEBUG_OUTPUT=WORK/out/written"),
        ("loader-debug-output-relative", "spawn¦/bin/echo¦x¦+LD_DEBUG=files¦+LD_DEBUG_OUTPUT=out/written"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.make("out")?;
            lab.policy(&program(ECHO.0, ECHO.1));
            let work = lab.path("").display().to_string();
            lab.provision(&["honest", &step.replace("WORK", work.trim_end_matches('/'))])?;
            let written = std::fs::read_dir(lab.path("out")).map_err(|error| error.to_string())?.count();
            escaped_if(written > 0, "the loader wrote a file")
        });
    }
    for (name, step, sign) in [
        ("loader-preload", "spawn¦/bin/echo¦x¦+LD_PRELOAD=/lab/evil.so", "/lab/evil.so"),
        ("loader-audit", "spawn¦/bin/echo¦x¦+LD_AUDIT=/lab/evil.so", "/lab/evil.so"),
        ("loader-library-path", "spawn¦/bin/echo¦x¦+LD_LIBRARY_PATH=/lab/evil¦+LD_DEBUG=libs", "/lab/evil"),
        ("loader-trace", "spawn¦/bin/echo¦x¦+LD_TRACE_LOADED_OBJECTS=1", "libc.so"),
        ("loader-show-auxv", "spawn¦/bin/echo¦x¦+LD_SHOW_AUXV=1", "AT_RANDOM"),
        (
            "loader-tunables",
            "spawn¦/bin/echo¦x¦+GLIBC_TUNABLES=glibc.nothing=1¦+LD_DEBUG=statistics",
            "relocat",
        ),
        (
            "loader-second-of-two-names",
            "spawn¦/bin/echo¦x¦+LANG=C¦+LD_PRELOAD=/lab/evil.so¦+LC_ALL=C",
            "/lab/evil.so",
        ),
        ("loader-same-name-twice", "spawn¦/bin/echo¦x¦+LD_PRELOAD=¦+LD_PRELOAD=/lab/evil.so", "/lab/evil.so"),
        ("loader-name-with-equals", "spawn¦/bin/echo¦x¦+LD_PRELOAD==/lab/evil.so", "/lab/evil.so"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.policy(&program(ECHO.0, ECHO.1));
            let run = lab.provision(&["honest", step])?;
            let shown = run.text();
            // The output of the program is checked, not the command line in a denial.
            let ran = shown
                .lines()
                .skip_while(|line| !line.contains("honest"))
                .any(|line| line.contains(sign) && !line.contains("refused") && !line.contains("denied"));
            escaped_if(ran && shown.contains("ran with"), "the loader obeyed the variable")
        });
    }
    table.add("loader-preloaded-library-runs", || {
        let lab = Lab::new()?;
        lab.write("evil.c", "#include <unistd.h>\n#include <fcntl.h>\n__attribute__((constructor)) static void go(void) { close(open(\"marker\", O_CREAT | O_WRONLY, 0600)); }\n");
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o", "evil.so", "evil.c"]).current_dir(lab.path(""));
        if !compiler.status().is_ok_and(|status| status.success()) {
            return Ok(crate::attack::Verdict::Unavailable("no C compiler".into()));
        }
        lab.policy(&program("/bin/echo", &["*"]));
        let step = format!("spawn¦/bin/echo¦x¦+LD_PRELOAD={}", lab.path("evil.so").display());
        leaves_marker(&lab, &["honest", &step])
    });
}

fn interpreters(table: &mut Table) {
    const BASH: (&str, &[&str]) = ("bash", &["-c", "echo ok"]);
    const PYTHON: (&str, &[&str]) = ("python3", &["-c", "print(1)"]);
    const PERL: (&str, &[&str]) = ("perl", &["-e", "print 1"]);
    with_file(
        table,
        "bash-env",
        BASH,
        &[("out/rc", "touch marker\n")],
        "spawn¦bash¦-c¦echo ok¦+BASH_ENV=WORK/out/rc",
    );
    runs(table, "bash-env-command", BASH, "spawn¦bash¦-c¦echo ok¦+BASH_ENV=$(touch marker)");
    runs(table, "bash-function", BASH, "spawn¦bash¦-c¦echo ok¦+BASH_FUNC_echo%%=() { touch marker; }");
    with_file(
        table,
        "posix-shell-env",
        ("bash", &["--posix", "-ic", "true"]),
        &[("out/rc", "touch marker\n")],
        "spawn¦bash¦--posix¦-ic¦true¦+ENV=WORK/out/rc",
    );
    with_file(
        table,
        "script-finds-program-in-path",
        ("sh", &["-c", "uname"]),
        &[("out/uname", "#!/bin/sh\n/usr/bin/touch marker\n")],
        "spawn¦sh¦-c¦uname¦+PATH=WORK/out",
    );
    with_file(
        table,
        "script-finds-program-in-relative-path",
        ("sh", &["-c", "uname"]),
        &[("out/uname", "#!/bin/sh\n/usr/bin/touch marker\n")],
        "spawn¦sh¦-c¦uname¦+PATH=out:/usr/bin:/bin",
    );
    with_file(
        table,
        "python-path",
        PYTHON,
        &[("out/sitecustomize.py", "open('marker', 'w')\n")],
        "spawn¦python3¦-c¦print(1)¦+PYTHONPATH=WORK/out",
    );
    runs(
        table,
        "python-warnings",
        PYTHON,
        "spawn¦python3¦-c¦print(1)¦+PYTHONWARNINGS=all:0:antigravity.x:0:0¦+BROWSER=sh -c 'touch marker' #%s",
    );
    with_file(
        table,
        "python-user-base",
        PYTHON,
        &[
            ("out/lib/python3.11/site-packages/usercustomize.py", "open('marker', 'w')\n"),
            ("out/lib/python3.12/site-packages/usercustomize.py", "open('marker', 'w')\n"),
            ("out/lib/python3.13/site-packages/usercustomize.py", "open('marker', 'w')\n"),
            ("out/lib/python3.10/site-packages/usercustomize.py", "open('marker', 'w')\n"),
        ],
        "spawn¦python3¦-c¦print(1)¦+PYTHONUSERBASE=WORK/out",
    );
    runs(
        table,
        "perl-debugger",
        PERL,
        "spawn¦perl¦-e¦print 1¦+PERL5OPT=-d¦+PERL5DB=BEGIN { system('touch marker'); exit }",
    );
    with_file(
        table,
        "perl-module",
        PERL,
        &[("out/Evil.pm", "open(F, '>marker'); 1;\n")],
        "spawn¦perl¦-e¦print 1¦+PERL5OPT=-MEvil¦+PERL5LIB=WORK/out",
    );
    with_file(
        table,
        "node-options",
        ("node", &["-e", "1"]),
        &[("out/evil.js", "require('fs').writeFileSync('marker', '')\n")],
        "spawn¦node¦-e¦1¦+NODE_OPTIONS=--require=WORK/out/evil.js",
    );
}

fn tools(table: &mut Table) {
    runs(
        table,
        "tar-options",
        ("tar", &["-cf", "/dev/null", "main.tf"]),
        "spawn¦tar¦-cf¦/dev/null¦main.tf¦+TAR_OPTIONS=--checkpoint=1 --checkpoint-action=exec=touch\\ marker",
    );
    with_file(
        table,
        "makefiles",
        ("make", &["-n"]),
        &[("out/evil.mk", "X := $(shell touch marker)\nall:\n")],
        "spawn¦make¦-n¦+MAKEFILES=WORK/out/evil.mk",
    );
    runs(
        table,
        "makeflags",
        ("make", &["-n"]),
        "spawn¦make¦-n¦+MAKEFLAGS=--eval=X:=$(shell\\ touch\\ marker)",
    );
    runs(
        table,
        "git-pager",
        ("git", &["--paginate", "version"]),
        "spawn¦git¦--paginate¦version¦+GIT_TRACE=/proc/self/cwd/marker¦+GIT_PAGER=touch marker",
    );
    with_file(
        table,
        "curl-home",
        ("curl", &["-s", "file:///etc/hostname"]),
        &[("out/.curlrc", "output = marker\n")],
        "spawn¦curl¦-s¦file:///etc/hostname¦+CURL_HOME=WORK/out",
    );
    table.add("home-of-another-program", || {
        let lab = Lab::new()?;
        lab.policy(&program("sh", &["-c", "cat ~/greeting"]));
        lab.write_at("outside/greeting", SECRET);
        let step = format!("spawn¦sh¦-c¦cat ~/greeting¦+HOME={}", lab.at("outside").display());
        let run = lab.provision(&["honest", &step])?;
        escaped_if(run.says(SECRET), "a file outside was read through HOME")
    });
    table.add("temporary-directory", || {
        let lab = Lab::new()?;
        lab.policy(&program("sh", &["-c", "mktemp"]));
        let step = format!("spawn¦sh¦-c¦mktemp¦+TMPDIR={}", lab.at("outside").display());
        lab.provision(&["honest", &step])?;
        let count = std::fs::read_dir(lab.at("outside")).map_err(|error| error.to_string())?.count();
        escaped_if(count > 1, "a file was created outside through TMPDIR")
    });
    table.add("variables-are-not-logged", || {
        let lab = Lab::new()?;
        lab.policy(&program("/bin/echo", &["*"]));
        lab.provision_with(
            &["honest", "spawn¦/bin/echo¦x¦+ACME_MODE=fast"],
            &[("WARDIAN_AUDIT", "audit.log")],
        )?;
        let log = lab.read("audit.log");
        ensure(log.contains("/bin/echo"), || format!("the log does not contain the program: {log}"))?;
        escaped_if(log.contains("\"allowed\"") && !log.contains("ACME_MODE"), "the log hides a variable")
    });
}

fn directories(table: &mut Table) {
    /// Reads the file `secret` in the working directory.
    fn reads(table: &mut Table, name: &str, directory: &'static str, before: &'static [&'static str]) {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.make("out")?;
            let both = format!("{}{}", program("cat", &["secret"]), grant(PROVISIONER, &["out"]));
            lab.policy(&both);
            let outside = lab.at("outside").display().to_string();
            let step = format!("spawn¦cat¦secret¦@{}", directory.replace("OUTSIDE", &outside));
            let mut steps = vec!["honest"];
            steps.extend(before);
            steps.push(&step);
            let run = lab.provision(&steps)?;
            escaped_if(run.says(SECRET), "a program ran in a directory that no rule grants")
        });
    }
    reads(table, "absolute-directory", "OUTSIDE", &[]);
    reads(table, "parent-directory", "../outside", &[]);
    reads(table, "parent-of-granted-directory", "out/../../outside", &[]);
    reads(table, "directory-with-dots", "OUTSIDE/./../outside//", &[]);
    reads(table, "directory-through-proc", "/proc/self/cwd/../outside", &[]);
    reads(table, "directory-through-root-of-process", "/proc/self/rootOUTSIDE", &[]);
    reads(
        table,
        "directory-through-planted-link",
        "out/l",
        &["make-all¦out/1/2", "symlink¦../../outside¦out/1/2/l", "rename¦out/1/2/l¦out/l"],
    );
    reads(
        table,
        "directory-through-planted-deep-link",
        "out/l/outside",
        &["make-all¦out/1/2", "symlink¦../..¦out/1/2/l", "rename¦out/1/2/l¦out/l"],
    );
    for (name, directory, sign) in [
        ("root-directory", "/", "etc"),
        ("directory-of-system-settings", "/etc", "passwd"),
        ("directory-of-a-process", "/proc/self", "environ"),
        ("many-parents", "../../../../../../../../etc", "passwd"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.policy(&program("ls", &[]));
            let run = lab.provision(&["honest", &format!("spawn¦ls¦@{directory}")])?;
            escaped_if(run.says(sign) && run.says("ran with"), "a directory was listed that no rule grants")
        });
    }
    table.add("directory-is-not-logged", || {
        let lab = Lab::new()?;
        lab.policy(&program("ls", &[]));
        lab.provision_with(&["honest", "spawn¦ls¦@/etc"], &[("WARDIAN_AUDIT", "audit.log")])?;
        let log = lab.read("audit.log");
        ensure(log.contains("ls"), || format!("the log does not contain the program: {log}"))?;
        escaped_if(!log.contains("/etc"), "the log hides the working directory")
    });
    table.add("make-in-planted-directory", || {
        let lab = Lab::new()?;
        lab.policy(&format!("{}{}", program("make", &[]), grant(HOSTILE, &["out"])));
        lab.make("out")?;
        lab.probe(&["write¦out/Makefile¦all:\n\ttouch marker ../marker\n"])?;
        leaves_marker(&lab, &["honest", "spawn¦make¦@out"])
    });
    table.add("git-status-in-planted-repository", || {
        let lab = Lab::new()?;
        lab.policy(&format!("{}{}", program("git", &["status"]), grant(HOSTILE, &["out"])));
        lab.make("out")?;
        lab.probe(&[
            "make-all¦out/.git/objects",
            "make-all¦out/.git/refs",
            "write¦out/.git/HEAD¦ref: refs/heads/main\n",
            "write¦out/.git/config¦[core]\n  repositoryformatversion = 0\n  fsmonitor = touch ../marker; true\n",
            "write¦out/x¦x",
        ])?;
        leaves_marker(&lab, &["honest", "spawn¦git¦status¦@out"])
    });
    table.add("node-loads-module-of-directory", || {
        let lab = Lab::new()?;
        lab.policy(&format!(
            "{}{}",
            program("python3", &["-m", "json.tool", "--help"]),
            grant(HOSTILE, &["out"])
        ));
        lab.make("out")?;
        lab.probe(&["write¦out/argparse.py¦open('../marker', 'w')\n"])?;
        leaves_marker(&lab, &["honest", "spawn¦python3¦-m¦json.tool¦--help¦@out"])
    });
}
