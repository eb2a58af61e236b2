//! Compiles the table of system calls to a program for the kernel's seccomp filter.
//!
//! The kernel runs the program before each system call, except for calls that it knows to be
//! always allowed. The program compares the number with each entry of the table in turn. Its input
//! is `struct seccomp_data`: the number, the architecture, and the arguments. It cannot read
//! memory, so decisions that depend on memory are made by the supervisor.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF, sock_filter,
};

use crate::linux::system_calls::{
    Architecture, ArgumentRule, Check, Half, INTERNET_DATAGRAMS, INTERNET_STREAMS, LAST_KNOWN, Outcome,
    SOCKET, SYSTEM_CALLS, Test, Treatment,
};

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The bit that marks the numbers of x86-64's 32-bit pointer interface.
const X32_BIT: u32 = 0x4000_0000;

/// A program for the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    instructions: Vec<sock_filter>,
}

/// Differences between machines and levels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FilterOptions {
    /// Required if Landlock does not restrict signals to other processes.
    pub(crate) supervises_signals: bool,
    /// Allowed only in a network namespace whose only interface is the loopback interface.
    pub(crate) allows_datagrams: bool,
    /// Whether there is no supervisor: namespaces then restrict the calls that it would decide on.
    pub(crate) is_unsupervised: bool,
}

impl FilterOptions {
    /// Returns the answer to calls that a supervisor decides on.
    const fn decided(self) -> u32 {
        if self.is_unsupervised { SECCOMP_RET_ALLOW } else { SECCOMP_RET_USER_NOTIF }
    }

    /// Returns the answer to calls that a supervisor refuses and records.
    const fn refused(self) -> u32 {
        if self.is_unsupervised { fails(libc::EPERM) } else { SECCOMP_RET_USER_NOTIF }
    }

    fn socket_rules(self) -> Vec<ArgumentRule> {
        let own_network: &[&[ArgumentRule]] = match (self.is_unsupervised, self.allows_datagrams) {
            (true, _) => &[INTERNET_DATAGRAMS, INTERNET_STREAMS],
            (false, true) => &[INTERNET_DATAGRAMS],
            (false, false) => &[],
        };
        [&own_network.concat(), SOCKET].concat()
    }
}

impl Filter {
    /// Compiles the filter for an architecture.
    pub(crate) fn new(architecture: Architecture, options: FilterOptions) -> Self {
        let mut filter = Self { instructions: Vec::new() };
        filter.load(ARCHITECTURE);
        filter.unless_equal(architecture.audit_number(), SECCOMP_RET_KILL_PROCESS);
        filter.load(NUMBER);
        if architecture == Architecture::X86_64 {
            filter.push(BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1);
            filter.answer(fails(libc::ENOSYS));
        }
        filter.push(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 0, 1);
        filter.answer(fails(libc::ENOSYS));
        for call in SYSTEM_CALLS {
            let is_free = call.treatment == Treatment::Signal && !options.supervises_signals;
            if let Some(number) = architecture.number(call).filter(|_| !is_free) {
                filter.add(number, call.treatment, options);
            }
        }
        filter.answer(SECCOMP_RET_ALLOW);
        filter
    }

    /// Returns the instructions. There are fewer than 4,096, which is the kernel's limit.
    pub(crate) fn instructions(&self) -> &[sock_filter] {
        &self.instructions
    }

    fn add(&mut self, number: u32, treatment: Treatment, options: FilterOptions) {
        let mut block = Self { instructions: Vec::new() };
        match treatment {
            Treatment::Supervised | Treatment::Signal => block.answer(options.decided()),
            Treatment::Refused => block.answer(options.refused()),
            Treatment::Fails(error) => block.answer(fails(error)),
            Treatment::Checked(rules) => block.add_rules(rules, options),
            Treatment::Socket => block.add_rules(&options.socket_rules(), options),
        }
        // Blocks are short: the table has at most eight rules of one check, or seven rules of up to three.
        let length = u8::try_from(block.instructions.len()).unwrap_or(u8::MAX);
        self.push(BPF_JMP | BPF_JEQ | BPF_K, number, 0, length);
        self.instructions.append(&mut block.instructions);
    }

    fn add_rules(&mut self, rules: &[ArgumentRule], options: FilterOptions) {
        for rule in rules {
            let answer = match rule.outcome {
                Outcome::Allowed => SECCOMP_RET_ALLOW,
                Outcome::Refused => options.refused(),
                Outcome::OtherSocket if options.is_unsupervised => fails(libc::EAFNOSUPPORT),
                Outcome::OtherSocket => SECCOMP_RET_USER_NOTIF,
                Outcome::Fails(error) => fails(error),
                Outcome::Ignored => fails(0),
            };
            self.add_rule(rule.checks, answer);
        }
        self.answer(SECCOMP_RET_ALLOW);
    }

    /// Adds a rule: if all checks match, the answer is returned; otherwise, execution continues
    /// after the rule.
    fn add_rule(&mut self, checks: &[Check], answer: u32) {
        let lengths: Vec<u8> = checks.iter().map(check_length).collect();
        for (index, check) in checks.iter().enumerate() {
            // The distance from the end of this check to the end of the answer.
            let rest = lengths[index + 1..].iter().sum::<u8>() + 1;
            self.load(argument_offset(check));
            match check.test {
                Test::Masked { mask, value } => {
                    if mask != u32::MAX {
                        self.push(BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
                    }
                    self.push(BPF_JMP | BPF_JEQ | BPF_K, value, 0, rest);
                }
                Test::AnyBit(bits) => self.push(BPF_JMP | BPF_JSET | BPF_K, bits, 0, rest),
            }
        }
        self.answer(answer);
    }

    fn load(&mut self, offset: u32) {
        self.push(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
    }

    fn unless_equal(&mut self, value: u32, answer: u32) {
        self.push(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
        self.answer(answer);
    }

    fn answer(&mut self, answer: u32) {
        self.push(BPF_RET | BPF_K, answer, 0, 0);
    }

    fn push(&mut self, code: u32, k: u32, jt: u8, jf: u8) {
        // All codes are smaller than 256.
        let code = u16::try_from(code).unwrap_or_default();
        self.instructions.push(sock_filter { code, jt, jf, k });
    }
}

const fn fails(error: i32) -> u32 {
    SECCOMP_RET_ERRNO | error.unsigned_abs()
}

fn check_length(check: &Check) -> u8 {
    match check.test {
        Test::Masked { mask: u32::MAX, .. } | Test::AnyBit(_) => 2,
        Test::Masked { .. } => 3,
    }
}

/// Returns the offset of half of an argument, on a little-endian machine.
fn argument_offset(check: &Check) -> u32 {
    let argument = u32::try_from(check.argument).unwrap_or_default();
    ARGUMENTS + 8 * argument + if check.half == Half::High { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executes the filter as the kernel does.
    fn answer(architecture: Architecture, call: (u32, u32), arguments: &[u64]) -> u32 {
        let options = FilterOptions { supervises_signals: true, ..FilterOptions::default() };
        run(&Filter::new(architecture, options), call, arguments)
    }

    fn run(filter: &Filter, call: (u32, u32), arguments: &[u64]) -> u32 {
        let mut data = [0u8; 64];
        data[..4].copy_from_slice(&call.0.to_le_bytes());
        data[4..8].copy_from_slice(&call.1.to_le_bytes());
        for (index, argument) in arguments.iter().enumerate() {
            data[16 + 8 * index..24 + 8 * index].copy_from_slice(&argument.to_le_bytes());
        }
        let (mut accumulator, mut next) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = filter.instructions()[next];
            next += 1;
            let code = u32::from(code);
            let jump = |holds: bool| usize::from(if holds { jt } else { jf });
            match code {
                _ if code == BPF_LD | BPF_W | BPF_ABS => {
                    let at = k as usize;
                    accumulator = u32::from_le_bytes(data[at..at + 4].try_into().unwrap());
                }
                _ if code == BPF_ALU | BPF_AND | BPF_K => accumulator &= k,
                _ if code == BPF_JMP | BPF_JEQ | BPF_K => next += jump(accumulator == k),
                _ if code == BPF_JMP | BPF_JGT | BPF_K => next += jump(accumulator > k),
                _ if code == BPF_JMP | BPF_JSET | BPF_K => next += jump(accumulator & k != 0),
                _ if code == BPF_RET | BPF_K => return k,
                _ => panic!("unexpected instruction {code}"),
            }
        }
    }

    fn on(architecture: Architecture, name: &str, arguments: &[u64]) -> u32 {
        let call = SYSTEM_CALLS.iter().find(|call| call.name == name).unwrap();
        let number = architecture.number(call).unwrap();
        answer(architecture, (number, architecture.audit_number()), arguments)
    }

    const BOTH: [Architecture; 2] = [Architecture::X86_64, Architecture::Aarch64];

    #[test]
    fn every_call_in_the_table_has_its_treatment() {
        for architecture in BOTH {
            for call in SYSTEM_CALLS {
                let Some(number) = architecture.number(call) else { continue };
                let expected = match call.treatment {
                    Treatment::Supervised | Treatment::Refused | Treatment::Signal => SECCOMP_RET_USER_NOTIF,
                    Treatment::Fails(error) => fails(error),
                    Treatment::Checked(_) | Treatment::Socket => continue,
                };
                let answer = answer(architecture, (number, architecture.audit_number()), &[u64::MAX; 6]);
                assert_eq!(answer, expected, "{architecture:?} {}", call.name);
            }
        }
    }

    #[test]
    fn ordinary_calls_are_allowed_and_unknown_calls_return_enosys() {
        // read, write, futex and exit_group, on x86-64.
        for number in [0, 1, 202, 231] {
            let audit = Architecture::X86_64.audit_number();
            assert_eq!(answer(Architecture::X86_64, (number, audit), &[u64::MAX; 6]), SECCOMP_RET_ALLOW);
        }
        for architecture in BOTH {
            for number in [LAST_KNOWN + 1, 1_000, 0x3fff_ffff] {
                let audit = architecture.audit_number();
                assert_eq!(answer(architecture, (number, audit), &[]), fails(libc::ENOSYS));
            }
        }
        let audit = Architecture::X86_64.audit_number();
        assert_eq!(answer(Architecture::X86_64, (X32_BIT | 0x2a, audit), &[]), fails(libc::ENOSYS));
    }

    #[test]
    fn signals_are_supervised_only_if_required() {
        let length = |supervises_signals| {
            let options = FilterOptions { supervises_signals, ..FilterOptions::default() };
            Filter::new(Architecture::X86_64, options).instructions().len()
        };
        // Two instructions for each of six calls.
        assert_eq!(length(true), length(false) + 12);
    }

    #[test]
    fn internet_datagram_sockets_are_allowed_only_in_a_network_namespace() {
        for architecture in BOTH {
            let call = SYSTEM_CALLS.iter().find(|call| call.name == "socket").unwrap();
            let number = architecture.number(call).unwrap();
            let answer = |allows_datagrams, arguments: &[u64]| {
                let options = FilterOptions { allows_datagrams, ..FilterOptions::default() };
                let filter = Filter::new(architecture, options);
                run(&filter, (number, architecture.audit_number()), arguments)
            };
            for arguments in [[2, 2, 0], [2, 2, 17], [10, 2, 0], [10, 0o2_004_002, 17]] {
                assert_eq!(answer(true, &arguments), SECCOMP_RET_ALLOW, "{arguments:?}");
                assert_eq!(answer(false, &arguments), SECCOMP_RET_USER_NOTIF, "{arguments:?}");
            }
            // Connections, raw and ping sockets, UDP-Lite, and other families.
            for arguments in
                [[2, 1, 0], [2, 3, 17], [2, 2, 1], [10, 2, 136], [1, 2, 0], [16, 2, 0], [40, 2, 0]]
            {
                assert_eq!(answer(true, &arguments), SECCOMP_RET_USER_NOTIF, "{arguments:?}");
            }
        }
    }

    #[test]
    fn other_architectures_are_killed() {
        const I386: u32 = 0x4000_0003;
        assert_eq!(answer(Architecture::X86_64, (42, I386), &[]), SECCOMP_RET_KILL_PROCESS);
        let arm64 = Architecture::Aarch64.audit_number();
        assert_eq!(answer(Architecture::X86_64, (42, arm64), &[]), SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn only_stream_sockets_of_this_machine_are_allowed_directly() {
        let cloexec_nonblock = 0o2_004_000;
        for architecture in BOTH {
            for (family, kind, expected) in [
                (1, 1, SECCOMP_RET_ALLOW),
                (1, 1 | cloexec_nonblock, SECCOMP_RET_ALLOW),
                (1, 5, SECCOMP_RET_ALLOW),
                // The kernel ignores the upper half of these arguments.
                (1 | 1 << 40, 1 | 1 << 40, SECCOMP_RET_ALLOW),
                (1, 2, SECCOMP_RET_USER_NOTIF),
                (2, 1, SECCOMP_RET_USER_NOTIF),
                (10, 1 | cloexec_nonblock, SECCOMP_RET_USER_NOTIF),
                (16, 3, SECCOMP_RET_USER_NOTIF),
                (40, 1, SECCOMP_RET_USER_NOTIF),
            ] {
                assert_eq!(on(architecture, "socket", &[family, kind, 0]), expected, "{family} {kind}");
            }
            assert_eq!(on(architecture, "socketpair", &[1, 1 | cloexec_nonblock]), SECCOMP_RET_ALLOW);
            // The kernel treats raw sockets of this family as datagram sockets.
            for (family, kind) in [(1, 2), (1, 3), (2, 1), (30, 1), (1, 10)] {
                assert_eq!(on(architecture, "socketpair", &[family, kind]), SECCOMP_RET_USER_NOTIF);
            }
        }
    }

    #[test]
    fn dangerous_arguments_are_refused() {
        for architecture in BOTH {
            let threads = 0x003d_0f00;
            assert_eq!(on(architecture, "clone", &[threads]), SECCOMP_RET_ALLOW);
            for flag in [0x2000_0000, 0x0002_0000, 0x4000_0000, 0x8000] {
                assert_eq!(on(architecture, "clone", &[threads | flag]), SECCOMP_RET_USER_NOTIF);
            }
            assert_eq!(on(architecture, "setsockopt", &[3, 41, 26]), fails(0));
            for option in [[6, 1], [41, 67], [1, 26]] {
                assert_eq!(on(architecture, "setsockopt", &[3, option[0], option[1]]), SECCOMP_RET_ALLOW);
            }
            assert_eq!(on(architecture, "sendto", &[3, 0, 0, 0x4000]), SECCOMP_RET_ALLOW);
            let fast_open = on(architecture, "sendto", &[3, 0, 0, 0x2000_4000]);
            assert_eq!(fast_open, fails(libc::EOPNOTSUPP));
            assert_eq!(on(architecture, "sendmsg", &[3, 0, 0x2000_0000]), fails(libc::EOPNOTSUPP));
            assert_eq!(on(architecture, "prctl", &[1, 0]), SECCOMP_RET_USER_NOTIF);
            assert_eq!(on(architecture, "prctl", &[15, 1]), SECCOMP_RET_ALLOW);
            assert_eq!(on(architecture, "ioctl", &[0, 0x5412]), SECCOMP_RET_USER_NOTIF);
            assert_eq!(on(architecture, "ioctl", &[0, 0x5401]), SECCOMP_RET_ALLOW);
            assert_eq!(on(architecture, "prlimit64", &[0, 7, 1 << 35]), SECCOMP_RET_ALLOW);
            assert_eq!(on(architecture, "prlimit64", &[77, 7, 0]), SECCOMP_RET_ALLOW);
            for pointer in [16, 1 << 35] {
                assert_eq!(on(architecture, "prlimit64", &[77, 7, pointer]), SECCOMP_RET_USER_NOTIF);
            }
            assert_eq!(on(architecture, "sched_setaffinity", &[0]), SECCOMP_RET_ALLOW);
            assert_eq!(on(architecture, "sched_setaffinity", &[7]), fails(libc::EPERM));
            assert_eq!(on(architecture, "setpriority", &[0, 0]), SECCOMP_RET_ALLOW);
            for others in [[2, 0], [1, 0], [0, 7]] {
                assert_eq!(on(architecture, "setpriority", &others), fails(libc::EPERM), "{others:?}");
            }
            assert_eq!(on(architecture, "fcntl", &[3, 4, 0x800]), SECCOMP_RET_ALLOW);
            for command in [8, 10, 15, 1024] {
                assert_eq!(on(architecture, "fcntl", &[3, command]), SECCOMP_RET_USER_NOTIF);
            }
            assert_eq!(on(architecture, "ioctl", &[3, 0x4008_6602]), SECCOMP_RET_USER_NOTIF);
            assert_eq!(on(architecture, "personality", &[0xffff_ffff]), SECCOMP_RET_ALLOW);
            assert_eq!(on(architecture, "personality", &[8]), SECCOMP_RET_USER_NOTIF);
        }
    }
}
