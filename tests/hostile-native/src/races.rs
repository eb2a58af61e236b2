//! Attacks with many connections, and races against a host that checks an address or descriptor
//! before it acts.

use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::network::{both, reached};
use crate::outcome::{Arguments, During as _, Failure, Outcome};
use crate::sys::{
    Address, attack_over, check, connect, page, raise_descriptor_limit, server, set_socket_option,
    socket_option, socket_pair, system_call, tcp_socket,
};

/// The results of the connections of a race.
#[derive(Default)]
struct Tally {
    forbidden: usize,
    other: usize,
    refused: usize,
    last: Option<Failure>,
}

impl Tally {
    fn count(&mut self, result: Result<(), Failure>, socket: RawFd, forbidden: &Address) {
        match result.and_then(|()| reached(socket, forbidden)) {
            Ok(_) => self.forbidden += 1,
            Err(Failure::NoEffect(_)) => self.other += 1,
            Err(failure) => {
                self.refused += 1;
                self.last = Some(failure);
            }
        }
    }

    fn outcome(self) -> Outcome {
        let counts = format!(
            "{} reached the forbidden server, {} another, {} failed",
            self.forbidden, self.other, self.refused
        );
        match (self.forbidden, self.last) {
            (0, Some(failure)) => Err(failure.with(&counts)),
            (0, None) => Err(Failure::NoEffect(counts)),
            _ => Ok(counts),
        }
    }
}

/// Runs the body while a thread repeats the disturbance.
fn while_disturbed<T>(
    disturb: impl Fn() + Sync,
    body: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        thread::Builder::new()
            .spawn_scoped(scope, || {
                while !stop.load(Ordering::Relaxed) {
                    disturb();
                }
            })
            .during("clone")?;
        let result = body();
        stop.store(true, Ordering::Relaxed);
        result
    })
}

/// Connects to the address that is in memory when the kernel or the host reads it.
fn connect_at(socket: RawFd, pointer: usize, length: libc::socklen_t) -> Result<(), Failure> {
    let arguments = [socket as usize, pointer, length as usize];
    // SAFETY: the kernel checks the memory.
    unsafe { system_call("connect", libc::SYS_connect, &arguments).map(drop) }
}

/// Returns the eight bytes in which the IPv4 addresses differ, in memory that both threads write.
fn shared_word(page: usize) -> &'static AtomicU64 {
    // SAFETY: the page is never freed, is aligned, and is accessed by atomic operations only.
    unsafe { &*(page as *const AtomicU64) }
}

/// Connects while a thread swaps the address between the allowed and the forbidden server.
pub(crate) fn connect_race(arguments: &Arguments) -> Outcome {
    let (allowed, forbidden) = both(arguments)?;
    let memory = page()?;
    let word = shared_word(memory);
    word.store(allowed.first_word(), Ordering::SeqCst);
    let swap = || {
        for address in [&forbidden, &allowed] {
            word.store(address.first_word(), Ordering::SeqCst);
            // Long enough for the other processor to see each of the two.
            for _ in 0..20 {
                std::hint::spin_loop();
            }
        }
    };
    race_for_address(arguments, memory, swap)
}

/// Connects to the address in memory while a thread replaces it.
fn race_for_address(arguments: &Arguments, memory: usize, swap: impl Fn() + Sync) -> Outcome {
    let (allowed, forbidden) = both(arguments)?;
    let mut tally = Tally::default();
    while_disturbed(swap, || {
        for _ in 0..arguments.number_or("n", 2000)? {
            let socket = tcp_socket(&allowed)?;
            let result = connect_at(socket.as_raw_fd(), memory, allowed.length());
            tally.count(result, socket.as_raw_fd(), &forbidden);
        }
        Ok(())
    })?;
    tally.outcome()
}

/// Connects while a thread unmaps the address and maps a page with another address in its place.
pub(crate) fn connect_unmap_race(arguments: &Arguments) -> Outcome {
    let (allowed, forbidden) = both(arguments)?;
    let memory = page()?;
    let replace = |address: &Address| {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the page belongs to this attack, and only the kernel and this thread use it.
        unsafe {
            let place = memory as *mut libc::c_void;
            libc::munmap(place, 4096);
            if libc::mmap(place, 4096, rights, flags, -1, 0) != libc::MAP_FAILED {
                place.cast::<u64>().write_volatile(address.first_word());
                // Most of the time, the address should be there.
                for _ in 0..200 {
                    std::hint::spin_loop();
                }
            }
        }
    };
    let swap = || {
        replace(&forbidden);
        replace(&allowed);
    };
    race_for_address(arguments, memory, swap)
}

/// The descriptor that the races replace.
const RACED: RawFd = 100;

/// Connects the raced descriptor alternately to both servers while a thread disturbs it.
fn race_for_descriptor(arguments: &Arguments, disturb: impl Fn(RawFd) + Sync, pause: Duration) -> Outcome {
    let (allowed, forbidden) = both(arguments)?;
    let current = AtomicU64::new(0);
    let mut tally = Tally::default();
    let swap = || {
        disturb(current.load(Ordering::SeqCst) as RawFd);
        if !pause.is_zero() {
            thread::sleep(pause);
        }
    };
    while_disturbed(swap, || {
        for index in 0..arguments.number_or("n", 2000)? {
            let socket = tcp_socket(&allowed)?;
            // SAFETY: the raced number belongs to this attack.
            check("dup2", unsafe { libc::dup2(socket.as_raw_fd(), RACED) })?;
            current.store(socket.as_raw_fd() as u64, Ordering::SeqCst);
            let address = if index % 2 == 0 { &forbidden } else { &allowed };
            let mut result = connect(RACED, address);
            // Whatever the number means now must not change while it is examined.
            // SAFETY: the call takes no pointers.
            let examined = unsafe { libc::dup(RACED) };
            let kind = socket_option(examined, libc::SOL_SOCKET, libc::SO_TYPE);
            if result.is_ok() && kind.ok() != Some(libc::SOCK_STREAM) {
                result = Err(Failure::NoEffect("another descriptor".to_owned()));
            }
            let seen =
                if reached(socket.as_raw_fd(), &forbidden).is_ok() { socket.as_raw_fd() } else { examined };
            tally.count(result, seen, &forbidden);
            if examined >= 0 {
                // SAFETY: the copy belongs to this iteration.
                unsafe { libc::close(examined) };
            }
        }
        Ok(())
    })?;
    tally.outcome()
}

/// Connects while a thread replaces the descriptor with other sockets.
pub(crate) fn connect_descriptor_race(arguments: &Arguments) -> Outcome {
    let datagram = crate::sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let (pair, _other) = socket_pair(libc::SOCK_STREAM)?;
    let swap = |socket: RawFd| {
        // SAFETY: the raced number belongs to this attack.
        unsafe {
            libc::dup2(datagram.as_raw_fd(), RACED);
            libc::dup2(socket, RACED);
            libc::dup2(pair.as_raw_fd(), RACED);
            libc::dup2(socket, RACED);
        }
    };
    race_for_descriptor(arguments, swap, Duration::ZERO)
}

/// Connects while a thread closes the descriptor.
pub(crate) fn connect_close_race(arguments: &Arguments) -> Outcome {
    let swap = |socket: RawFd| {
        // SAFETY: the raced number belongs to this attack.
        unsafe {
            libc::close(RACED);
            libc::dup2(socket, RACED);
        }
    };
    race_for_descriptor(arguments, swap, Duration::from_micros(20))
}

/// Creates many sockets without connecting them, then checks that one can still be connected.
pub(crate) fn many_placeholders(arguments: &Arguments) -> Outcome {
    let address = Address::internet(server(arguments, "")?);
    raise_descriptor_limit();
    let mut sockets = Vec::new();
    let mut end = "all".to_owned();
    for _ in 0..arguments.number_or("n", 10_000)? {
        match tcp_socket(&address) {
            Ok(socket) => sockets.push(socket),
            Err(failure) => {
                end = failure.name();
                break;
            }
        }
    }
    let count = sockets.len();
    let note = format!("{count} sockets, {end}");
    let Some(socket) = sockets.pop() else {
        return Err(Failure::NoEffect(note));
    };
    connect(socket.as_raw_fd(), &address).map_err(|failure| failure.with(&note))?;
    Ok(format!("{note}; the last one is connected"))
}

/// Connects from many threads at once, and holds every connection until all have an answer.
pub(crate) fn many_connects(arguments: &Arguments) -> Outcome {
    let address = Address::internet(server(arguments, "")?);
    let number: usize = arguments.number_or("n", 1000)?;
    raise_descriptor_limit();
    let failures = Mutex::new(Vec::new());
    let started = Instant::now();
    let begin = Barrier::new(number + 1);
    let connected = thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..number {
            let connection = || {
                begin.wait();
                let result = tcp_socket(&address)
                    .and_then(|socket| connect(socket.as_raw_fd(), &address).map(|()| socket));
                match result {
                    Ok(socket) => Some(socket),
                    Err(failure) => {
                        if let Ok(mut failures) = failures.lock() {
                            failures.push(failure);
                        }
                        None
                    }
                }
            };
            match thread::Builder::new().stack_size(65_536).spawn_scoped(scope, connection) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    // The barrier can no longer open: end here.
                    let failure = Failure::from_error(&error, "clone");
                    crate::report(&Err(failure.with(&format!("{} threads", threads.len()))));
                }
            }
        }
        begin.wait();
        let sockets: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
        sockets.len()
    });
    let counts = format!("{connected} of {number} connected in {} ms", started.elapsed().as_millis());
    let failures = failures.into_inner().unwrap_or_default();
    match (connected, failures.into_iter().next()) {
        (0, Some(failure)) => Err(failure.with(&counts)),
        (_, Some(failure)) => Ok(format!("{counts}; others: {}", failure.name())),
        (_, None) => Ok(counts),
    }
}

extern "C" fn ignore(_: libc::c_int) {}

/// Connects while a signal interrupts the process every millisecond.
pub(crate) fn connect_under_signals(arguments: &Arguments) -> Outcome {
    let address = Address::internet(server(arguments, "")?);
    let number: usize = arguments.number_or("n", 200)?;
    let period = libc::timeval { tv_sec: 0, tv_usec: arguments.number_or("microseconds", 1000)? };
    let timer = libc::itimerval { it_interval: period, it_value: period };
    // SAFETY: the handler does nothing; the structures live until the calls return.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as *const () as usize;
        check("sigaction", libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()))?;
        check("setitimer", libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()))?;
    }
    let (mut connected, mut interrupted, mut last) = (0, 0, None);
    let mut sockets = Vec::new();
    for _ in 0..number {
        // The supervisor's answer to `socket` can be preceded by a signal, and the handler does not
        // restart calls.
        let socket = loop {
            match tcp_socket(&address) {
                Err(failure) if failure.errno() == Some(libc::EINTR) => {}
                socket => break socket?,
            }
        };
        loop {
            match connect(socket.as_raw_fd(), &address) {
                Err(failure) if failure.errno() == Some(libc::EINTR) => interrupted += 1,
                Err(failure) if failure.errno() == Some(libc::EALREADY) => thread::yield_now(),
                Err(failure) if failure.errno() != Some(libc::EISCONN) => {
                    last = Some(failure);
                    break;
                }
                _ => {
                    connected += 1;
                    break;
                }
            }
        }
        sockets.push(socket);
    }
    // SAFETY: all of its fields are numbers.
    unsafe {
        let stop: libc::itimerval = std::mem::zeroed();
        libc::setitimer(libc::ITIMER_REAL, &raw const stop, std::ptr::null_mut());
    }
    if let Some(socket) = sockets.last() {
        let _ = attack_over(socket.as_raw_fd());
    }
    let counts = format!("{connected} of {number} connected, {interrupted} interrupted");
    match last {
        Some(failure) if connected == 0 => Err(failure.with(&counts)),
        Some(failure) => Ok(format!("{counts}; others: {}", failure.name())),
        None => Ok(counts),
    }
}

/// Kills processes while they connect, and connects itself afterwards. Their IDs may be reused by the
/// next processes.
pub(crate) fn killed_during_connect(arguments: &Arguments) -> Outcome {
    let address = Address::internet(server(arguments, "")?);
    let number: u64 = arguments.number_or("n", 200)?;
    for round in 0..number {
        // SAFETY: the child makes only system calls, and ends without running destructors.
        let child = unsafe { libc::fork() };
        if child == 0 {
            for _ in 0..1_000 {
                let _ = tcp_socket(&address).and_then(|socket| connect(socket.as_raw_fd(), &address));
            }
            // SAFETY: the call ends the process.
            unsafe { libc::_exit(0) };
        }
        check("fork", child)?;
        thread::sleep(Duration::from_micros(round * 37 % 3_000));
        // SAFETY: the calls have only integer arguments and a null pointer.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
    let socket = tcp_socket(&address)?;
    connect(socket.as_raw_fd(), &address)?;
    attack_over(socket.as_raw_fd()).map(|_| format!("connected after {number} processes were killed"))
}

/// Ends while threads connect.
pub(crate) fn threads_in_calls(arguments: &Arguments) -> Outcome {
    let address = Arc::new(Address::internet(server(arguments, "")?));
    let number: usize = arguments.number_or("n", 32)?;
    for _ in 0..number {
        let address = Arc::clone(&address);
        thread::spawn(move || {
            loop {
                let _ = tcp_socket(&address).and_then(|socket| connect(socket.as_raw_fd(), &address));
            }
        });
    }
    thread::sleep(Duration::from_millis(100));
    Ok(format!("ends with {number} threads in calls"))
}

/// Sets TCP options before it connects, as many clients do.
pub(crate) fn options_before_connect(arguments: &Arguments) -> Outcome {
    let address = Address::internet(server(arguments, "")?);
    let socket = tcp_socket(&address)?;
    let options = [
        (libc::IPPROTO_TCP, libc::TCP_NODELAY, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 60),
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_IP, libc::IP_TOS, 16),
    ];
    for (level, option, value) in options {
        set_socket_option(socket.as_raw_fd(), level, option, value)?;
        let set = socket_option(socket.as_raw_fd(), level, option)?;
        if set != value {
            return Err(Failure::NoEffect(format!("option {option} of level {level} is {set}")));
        }
    }
    connect(socket.as_raw_fd(), &address)?;
    attack_over(socket.as_raw_fd())
}
