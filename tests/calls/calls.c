// Stands between a program and the C library (LD_PRELOAD, ld.so(8)): notes what it opens and runs,
// and lets the n-th call that touches a folder fail as a bad disk does.
//
// CALLS_STATE names a file with a `struct state`, shared by all processes; CALLS_LOG one to which a
// line is added for each file opened and each program run: the call, a tab, the path.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct state {
  long count;  // calls that have touched the folder
  long at;     // the number of the call that fails, from 0; -1 for none
  long error;  // its errno
  long ever;   // whether all later ones fail too
  char folder[PATH_MAX];
};

static struct state *state;
static const char *notes;

__attribute__((constructor)) static void begin(void) {
  const char *shared = getenv("CALLS_STATE"), *log = getenv("CALLS_LOG");
  if (shared) {
    int fd = syscall(SYS_openat, AT_FDCWD, shared, O_RDWR | O_CLOEXEC);
    void *at = mmap(0, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || at == MAP_FAILED) abort();
    state = at;
    syscall(SYS_close, fd);
  }
  notes = log ? strdup(log) : 0;
}

// The absolute path of a name relative to a folder; of the file itself where there is no name.
static void whole(char *out, int folder, const char *name) {
  char link[64];
  ssize_t n = 0;
  if (name && *name == '/') {
    snprintf(out, 2 * PATH_MAX, "%s", name);
    return;
  }
  if (folder == AT_FDCWD)
    snprintf(link, sizeof link, "/proc/self/cwd");
  else
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  n = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
  out[n < 0 ? 0 : n] = 0;
  if (name && *name) snprintf(out + strlen(out), PATH_MAX, "/%s", name);
}

// Notes a call; whether it is to fail, with errno.
static int fails(const char *call, int folder, const char *name, int noted) {
  char path[2 * PATH_MAX], line[2 * PATH_MAX + 64];
  int before = errno, failing = 0;
  if (!notes && !(state && state->folder[0])) return 0;
  whole(path, folder, name);
  if (noted && notes) {
    // Opened each time: who starts a program closes all files in between.
    int fd = syscall(SYS_openat, AT_FDCWD, notes, O_WRONLY | O_APPEND | O_CLOEXEC);
    int n = snprintf(line, sizeof line, "%s\t%s\n", call, path);
    if (fd < 0 || syscall(SYS_write, fd, line, n) != n) abort();
    syscall(SYS_close, fd);
  }
  size_t length = state ? strlen(state->folder) : 0;
  if (length && !strncmp(path, state->folder, length) && (path[length] == '/' || !path[length])) {
    long number = __atomic_fetch_add(&state->count, 1, __ATOMIC_SEQ_CST);
    long at = state->at;
    failing = at >= 0 && (number == at || (state->ever && number > at));
  }
  errno = failing ? state->error : before;
  return failing;
}

#define NEXT(name) ((__typeof__(&name))next(#name))
static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

#define MODE \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list list; \
    va_start(list, flags); \
    mode = va_arg(list, mode_t); \
    va_end(list); \
  }
#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    MODE if (fails("open", AT_FDCWD, path, 1)) return -1; \
    return NEXT(name)(path, flags, mode); \
  }
#define OPENAT(name) \
  int name(int folder, const char *path, int flags, ...) { \
    MODE if (fails("open", folder, path, 1)) return -1; \
    return NEXT(name)(folder, path, flags, mode); \
  }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)

#define STREAM(name) \
  FILE *name(const char *path, const char *mode) { \
    if (fails("open", AT_FDCWD, path, 1)) return 0; \
    return NEXT(name)(path, mode); \
  }
STREAM(fopen) STREAM(fopen64)

DIR *opendir(const char *path) {
  if (fails("open", AT_FDCWD, path, 1)) return 0;
  return NEXT(opendir)(path);
}
#define READDIR(name, type) \
  struct type *name(DIR *folder) { \
    if (fails(#name, dirfd(folder), 0, 0)) return 0; \
    return NEXT(name)(folder); \
  }
READDIR(readdir, dirent) READDIR(readdir64, dirent64)

// Calls on a path.
#define ON_PATH(name, parameters, arguments) \
  int name parameters { \
    if (fails(#name, AT_FDCWD, path, 0)) return -1; \
    return NEXT(name) arguments; \
  }
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(rmdir, (const char *path), (path))
ON_PATH(unlink, (const char *path), (path))
ON_PATH(chmod, (const char *path, mode_t mode), (path, mode))
ON_PATH(chown, (const char *path, uid_t user, gid_t group), (path, user, group))
ON_PATH(lchown, (const char *path, uid_t user, gid_t group), (path, user, group))
ON_PATH(access, (const char *path, int mode), (path, mode))
ON_PATH(stat, (const char *path, struct stat *out), (path, out))
ON_PATH(lstat, (const char *path, struct stat *out), (path, out))
ON_PATH(stat64, (const char *path, struct stat64 *out), (path, out))
ON_PATH(lstat64, (const char *path, struct stat64 *out), (path, out))
ON_PATH(rename, (const char *path, const char *to), (path, to))
ON_PATH(link, (const char *path, const char *to), (path, to))

ssize_t readlink(const char *path, char *out, size_t size) {
  if (fails("readlink", AT_FDCWD, path, 0)) return -1;
  return NEXT(readlink)(path, out, size);
}
int symlink(const char *to, const char *path) {
  if (fails("symlink", AT_FDCWD, path, 0)) return -1;
  return NEXT(symlink)(to, path);
}

// Calls on a path below a folder.
#define ON_NAME(name, parameters, arguments) \
  int name parameters { \
    if (fails(#name, folder, path, 0)) return -1; \
    return NEXT(name) arguments; \
  }
ON_NAME(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))
ON_NAME(unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
ON_NAME(fchmodat, (int folder, const char *path, mode_t mode, int flags),
        (folder, path, mode, flags))
ON_NAME(fchownat, (int folder, const char *path, uid_t user, gid_t group, int flags),
        (folder, path, user, group, flags))
ON_NAME(faccessat, (int folder, const char *path, int mode, int flags),
        (folder, path, mode, flags))
ON_NAME(fstatat, (int folder, const char *path, struct stat *out, int flags),
        (folder, path, out, flags))
ON_NAME(fstatat64, (int folder, const char *path, struct stat64 *out, int flags),
        (folder, path, out, flags))
ON_NAME(renameat, (int folder, const char *path, int other, const char *to),
        (folder, path, other, to))
ON_NAME(renameat2, (int folder, const char *path, int other, const char *to, unsigned flags),
        (folder, path, other, to, flags))
ON_NAME(linkat, (int folder, const char *path, int other, const char *to, int flags),
        (folder, path, other, to, flags))
ON_NAME(utimensat, (int folder, const char *path, const struct timespec times[2], int flags),
        (folder, path, times, flags))
ssize_t readlinkat(int folder, const char *path, char *out, size_t size) {
  if (fails("readlinkat", folder, path, 0)) return -1;
  return NEXT(readlinkat)(folder, path, out, size);
}

// Calls on an open file.
#define ON_FILE(type, name, parameters, arguments) \
  type name parameters { \
    if (fails(#name, file, 0, 0)) return -1; \
    return NEXT(name) arguments; \
  }
ON_FILE(ssize_t, read, (int file, void *out, size_t size), (file, out, size))
ON_FILE(ssize_t, pread, (int file, void *out, size_t size, off_t at), (file, out, size, at))
ON_FILE(ssize_t, pread64, (int file, void *out, size_t size, off64_t at), (file, out, size, at))
ON_FILE(ssize_t, write, (int file, const void *data, size_t size), (file, data, size))
ON_FILE(ssize_t, pwrite, (int file, const void *data, size_t size, off_t at),
        (file, data, size, at))
ON_FILE(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at),
        (file, data, size, at))
ON_FILE(ssize_t, writev, (int file, const struct iovec *data, int count), (file, data, count))
ON_FILE(int, fstat, (int file, struct stat *out), (file, out))
ON_FILE(int, fstat64, (int file, struct stat64 *out), (file, out))
ON_FILE(int, fsync, (int file), (file))
ON_FILE(int, fdatasync, (int file), (file))
ON_FILE(int, ftruncate, (int file, off_t size), (file, size))
ON_FILE(int, ftruncate64, (int file, off64_t size), (file, size))
ON_FILE(int, fchmod, (int file, mode_t mode), (file, mode))
ON_FILE(int, fchown, (int file, uid_t user, gid_t group), (file, user, group))
ON_FILE(int, flock, (int file, int operation), (file, operation))

// The file is closed all the same (close(2), "Dealing with error returns from close()").
int close(int file) {
  int failing = fails("close", file, 0, 0), error = errno;
  int done = NEXT(close)(file);
  if (!failing) return done;
  errno = error;
  return -1;
}

// Programs.
#define RUN(name, parameters, arguments) \
  int name parameters { \
    fails("run", AT_FDCWD, path, 1); \
    return NEXT(name) arguments; \
  }
RUN(execve, (const char *path, char *const words[], char *const variables[]),
    (path, words, variables))
RUN(execv, (const char *path, char *const words[]), (path, words))
RUN(execvp, (const char *path, char *const words[]), (path, words))
RUN(execvpe, (const char *path, char *const words[], char *const variables[]),
    (path, words, variables))
RUN(posix_spawn,
    (pid_t *made, const char *path, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const words[], char *const variables[]),
    (made, path, actions, attributes, words, variables))
RUN(posix_spawnp,
    (pid_t *made, const char *path, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const words[], char *const variables[]),
    (made, path, actions, attributes, words, variables))
