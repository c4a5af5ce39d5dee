//! Calls of hipcc, as many at once as cargo allows.

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

/// One call of hipcc.
pub(super) struct Job {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) source: String,
    pub(super) output: PathBuf,
}

impl Job {
    fn done(&self) -> bool {
        self.output.exists()
    }

    fn partial(&self) -> PathBuf {
        self.output
            .with_extension(format!("{}.part", std::process::id()))
    }

    fn start(&self) -> Result<Child, String> {
        Command::new(&self.program)
            .args(&self.arguments)
            .arg(&self.source)
            .arg("-o")
            .arg(self.partial())
            .spawn()
            .map_err(|e| format!("cannot run {}: {e}", self.program.display()))
    }

    fn finish(&self) -> Result<(), String> {
        fs::rename(self.partial(), &self.output)
            .map_err(|e| format!("{}: {e}", self.output.display()))
    }
}

/// Runs the jobs whose output is missing, as many at once as cargo's job server allows.
pub(super) fn run(jobs: &[Job]) -> Result<(), String> {
    let mut server = JobServer::connect();
    let mut waiting = jobs.iter().filter(|job| !job.done());
    let mut next = waiting.next();
    let mut running: Vec<(&Job, Child)> = Vec::new();
    let mut failure = None;
    while !running.is_empty() || (next.is_some() && failure.is_none()) {
        while let (Some(job), None) = (next, &failure) {
            // The first job runs on the token that the build script itself holds.
            if !running.is_empty() && !server.acquire() {
                break;
            }
            running.push((job, job.start()?));
            next = waiting.next();
        }
        thread::sleep(Duration::from_millis(20));
        let mut index = 0;
        while index < running.len() {
            let (job, child) = &mut running[index];
            let Some(status) = child.try_wait().map_err(|e| e.to_string())? else {
                index += 1;
                continue;
            };
            if status.success() {
                job.finish()?;
            } else {
                let call = job.arguments.join(" ");
                failure = Some(format!(
                    "{} {call} {}: {status}",
                    job.program.display(),
                    job.source
                ));
            }
            running.swap_remove(index);
            if !running.is_empty() {
                server.release();
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

/// The job server that cargo shares with its build scripts: GNU make's protocol, one byte a token.
/// Where there is none, `NUM_JOBS` says how many jobs may run.
struct JobServer {
    pipe: Option<(fs::File, fs::File)>,
    held: Vec<u8>,
    limit: usize,
}

impl JobServer {
    fn connect() -> Self {
        let limit = env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok());
        Self {
            pipe: Self::pipe(),
            held: Vec::new(),
            limit: limit.unwrap_or(1),
        }
    }

    #[cfg(target_os = "linux")]
    fn pipe() -> Option<(fs::File, fs::File)> {
        use std::os::unix::fs::OpenOptionsExt;
        // Of the file opened here, not of the pipe that others share: a read must not block.
        const O_NONBLOCK: i32 = 0o4000;
        let flags = env::var("CARGO_MAKEFLAGS").ok()?;
        let auth = flags
            .split_whitespace()
            .find_map(|flag| flag.strip_prefix("--jobserver-auth="))?;
        let (read, write) = match auth.strip_prefix("fifo:") {
            Some(path) => (path.to_string(), path.to_string()),
            None => {
                let (read, write) = auth.split_once(',')?;
                (
                    format!("/proc/self/fd/{read}"),
                    format!("/proc/self/fd/{write}"),
                )
            }
        };
        let reader = fs::OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(read)
            .ok()?;
        let writer = fs::OpenOptions::new().write(true).open(write).ok()?;
        Some((reader, writer))
    }

    #[cfg(not(target_os = "linux"))]
    fn pipe() -> Option<(fs::File, fs::File)> {
        None
    }

    fn acquire(&mut self) -> bool {
        let mut token = [b'+'];
        let free = match &mut self.pipe {
            Some((reader, _)) => matches!(reader.read(&mut token), Ok(1)),
            None => self.held.len() + 1 < self.limit,
        };
        if free {
            self.held.push(token[0]);
        }
        free
    }

    fn release(&mut self) {
        if let (Some(token), Some((_, writer))) = (self.held.pop(), &mut self.pipe) {
            // A token that cannot be given back costs one job, not the build.
            let _ = writer.write_all(&[token]);
        }
    }
}

impl Drop for JobServer {
    fn drop(&mut self) {
        while !self.held.is_empty() {
            self.release();
        }
    }
}
