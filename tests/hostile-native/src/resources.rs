//! Attacks on memory, disk and other resources, and on files and keys that the host may have left behind.

use std::io::Write as _;
use std::mem;
use std::thread;
use std::time::Duration;

use crate::files::create;
use crate::outcome::{Arguments, During as _, Failure, Outcome};
use crate::sys::{MARK, c_string, check, own, raise_descriptor_limit};

/// Parses the key of a System V IPC object, in decimal or with `0x`.
fn key(arguments: &Arguments) -> Result<libc::key_t, Failure> {
    let text = arguments.text("key")?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match number {
        Some(number) => Ok(number as libc::key_t),
        None => Err(Failure::Parameter("key= is not a number".to_owned())),
    }
}

/// Attaches and reads shared memory that another process has created.
pub(crate) fn system_v_shared_memory(arguments: &Arguments) -> Outcome {
    let key = key(arguments)?;
    // SAFETY: the kernel chooses the address; the memory has at least one byte.
    unsafe {
        let identifier = check("shmget", libc::shmget(key, 0, 0))?;
        let memory = libc::shmat(identifier as i32, std::ptr::null(), libc::SHM_RDONLY);
        if memory as isize == -1 {
            return Err(Failure::last("shmat"));
        }
        let byte = memory.cast::<u8>().read_volatile();
        libc::shmdt(memory);
        Ok(format!("the first byte is {byte}"))
    }
}

/// Sends to a queue that another process has created: of System V (`key=`) or POSIX (`name=`).
pub(crate) fn message_queue(arguments: &Arguments) -> Outcome {
    #[repr(C)]
    struct Message {
        kind: libc::c_long,
        text: [u8; 6],
    }
    if let Some(name) = arguments.optional("name") {
        let name = c_string(name)?;
        // SAFETY: name and bytes live until the calls return.
        unsafe {
            let queue = libc::mq_open(name.as_ptr(), libc::O_WRONLY | libc::O_NONBLOCK);
            check("mq_open", queue)?;
            check("mq_send", libc::mq_send(queue, MARK.as_ptr().cast(), MARK.len(), 0))?;
        }
        return Ok(format!("sent {} bytes", MARK.len()));
    }
    let key = key(arguments)?;
    let mut message = Message { kind: 1, text: [0; 6] };
    message.text.copy_from_slice(MARK);
    // SAFETY: the message lives until the call returns and has as many bytes.
    unsafe {
        let queue = check("msgget", libc::msgget(key, 0))?;
        let result = libc::msgsnd(queue as i32, (&raw const message).cast(), MARK.len(), libc::IPC_NOWAIT);
        check("msgsnd", result)?;
    }
    Ok(format!("sent {} bytes", MARK.len()))
}

/// Increments a semaphore that another process has created.
pub(crate) fn semaphore(arguments: &Arguments) -> Outcome {
    let key = key(arguments)?;
    let mut operation = libc::sembuf { sem_num: 0, sem_op: 1, sem_flg: libc::IPC_NOWAIT as _ };
    // SAFETY: the operation lives until the call returns.
    unsafe {
        let set = check("semget", libc::semget(key, 0, 0))?;
        check("semop", libc::semop(set as i32, &raw mut operation, 1))?;
    }
    Ok("incremented".to_owned())
}

pub(crate) fn allocate_memory(arguments: &Arguments) -> Outcome {
    let bytes: usize = arguments.number("bytes")?;
    let part = 16 << 20;
    let mut allocated = 0;
    while allocated < bytes {
        // SAFETY: the mapping is new, and its pages are written within its length.
        unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                part,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return Err(Failure::last("mmap").with(&format!("after {allocated} bytes")));
            }
            for page in (0..part).step_by(4096) {
                memory.cast::<u8>().add(page).write_volatile(1);
            }
        }
        allocated += part;
    }
    Ok(format!("{allocated} bytes"))
}

pub(crate) fn write_large_file(arguments: &Arguments) -> Outcome {
    let bytes: usize = arguments.number("bytes")?;
    // SAFETY: a limit on the size of files then returns an error instead of ending the process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut file = create(arguments)?;
    let part = vec![0x41; 1 << 20];
    let mut written = 0;
    while written < bytes {
        let length = file
            .write(&part[..part.len().min(bytes - written)])
            .during("write")
            .map_err(|failure| failure.with(&format!("after {written} bytes")))?;
        written += length;
    }
    Ok(format!("{written} bytes"))
}

pub(crate) fn many_threads(arguments: &Arguments) -> Outcome {
    let number: usize = arguments.number_or("n", 10_000)?;
    for count in 0..number {
        let thread =
            thread::Builder::new().stack_size(32_768).spawn(|| thread::sleep(Duration::from_hours(1)));
        if let Err(error) = thread {
            return Err(Failure::from_error(&error, "clone").with(&format!("after {count} threads")));
        }
    }
    Ok(format!("{number} threads"))
}

pub(crate) fn many_processes(arguments: &Arguments) -> Outcome {
    let number: usize = arguments.number_or("n", 1000)?;
    let mut children = Vec::new();
    let mut failure = None;
    while children.len() < number && failure.is_none() {
        // SAFETY: this program has no other thread; the child only waits for its end.
        unsafe {
            match libc::fork() {
                0 => {
                    libc::pause();
                    libc::_exit(0);
                }
                child if child < 0 => failure = Some(Failure::last("fork")),
                child => children.push(child),
            }
        }
    }
    for child in &children {
        // SAFETY: the call waits for children of this process.
        unsafe {
            libc::kill(*child, libc::SIGKILL);
            libc::waitpid(*child, std::ptr::null_mut(), 0);
        }
    }
    match failure {
        Some(failure) => Err(failure.with(&format!("after {} processes", children.len()))),
        None => Ok(format!("{number} processes")),
    }
}

/// Lists the descriptors that the program has not opened itself.
pub(crate) fn inherited_descriptors(_: &Arguments) -> Outcome {
    let limit = raise_descriptor_limit().min(1 << 20) as i32;
    let mut found = Vec::new();
    for descriptor in 3..limit {
        // SAFETY: the only pointer is to the status, which the call writes.
        let kind = unsafe {
            if libc::fcntl(descriptor, libc::F_GETFD) < 0 {
                continue;
            }
            let mut status: libc::stat = mem::zeroed();
            if libc::fstat(descriptor, &raw mut status) < 0 {
                "unknown"
            } else {
                match status.st_mode & libc::S_IFMT {
                    libc::S_IFSOCK => "socket",
                    libc::S_IFREG => "file",
                    libc::S_IFDIR => "directory",
                    libc::S_IFIFO => "pipe",
                    libc::S_IFCHR => "device",
                    _ => "other",
                }
            }
        };
        let target = std::fs::read_link(format!("/proc/self/fd/{descriptor}"))
            .map_or_else(|_| String::new(), |path| format!(" {}", path.display()));
        found.push(format!("{descriptor} {kind}{target}"));
    }
    if found.is_empty() {
        return Err(Failure::NoEffect("none is open".to_owned()));
    }
    Ok(found.join(", "))
}

/// Returns the names of all variables.
pub(crate) fn environment(_: &Arguments) -> Outcome {
    let names: Vec<_> = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    if names.is_empty() {
        return Err(Failure::NoEffect("no variables".to_owned()));
    }
    Ok(names.join(","))
}

/// Opens a file that another process may have locked, and takes the lock.
pub(crate) fn lock_file(arguments: &Arguments) -> Outcome {
    let path = c_string(arguments.text("path")?)?;
    // SAFETY: the path lives until the call returns.
    unsafe {
        let file = own("open", libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC))?;
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
        check("flock", libc::flock(descriptor, libc::LOCK_EX | libc::LOCK_NB))?;
    }
    Ok("locked".to_owned())
}
