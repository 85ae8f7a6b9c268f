/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: one call of the C library fails, as the environment says.
 *
 *     ADVERSARY_FAULT=pwrite:3:28     the third pwrite fails with errno 28
 *     ADVERSARY_FAULT=pwrite:3+:28    and so does every later one
 *     ADVERSARY_FAULT=read:2:short    the second read gives half of the bytes
 *     ADVERSARY_LEAST=4096            calls for less memory neither count nor fail
 *     ADVERSARY_COUNTS=FILE           at the end, gets a line "CALL N" for each call's count
 *
 * Calls of all threads are counted together, from when the library is loaded; variants of a call
 * for large files count as the call itself. */
#define _GNU_SOURCE
/* Undefined, so that each call can be defined here under its own name. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#pragma GCC visibility push(default)

#define SHORT -1

/* glibc's malloc under its second name, for programs that replace the first, as this library
 * does. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *memory, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);

enum {
    CALL_open,
    CALL_fopen,
    CALL_opendir,
    CALL_read,
    CALL_pread,
    CALL_write,
    CALL_pwrite,
    CALL_writev,
    CALL_lseek,
    CALL_fstat,
    CALL_ftruncate,
    CALL_fallocate,
    CALL_fsync,
    CALL_close,
    CALL_rename,
    CALL_unlink,
    CALL_mkdir,
    CALL_mmap,
    CALL_msync,
    CALL_pthread_create,
    CALL_malloc,
    CALL_calloc,
    CALL_realloc,
    CALL_memalign,
    N_CALLS
};

#define NAME(call) [CALL_##call] = #call
static const char *const names[] = {
    NAME(open),      NAME(fopen),     NAME(opendir), NAME(read),    NAME(pread),
    NAME(write),     NAME(pwrite),    NAME(writev),  NAME(lseek),   NAME(fstat),
    NAME(ftruncate), NAME(fallocate), NAME(fsync),   NAME(close),   NAME(rename),
    NAME(unlink),    NAME(mkdir),     NAME(mmap),    NAME(msync),   NAME(pthread_create),
    NAME(malloc),    NAME(calloc),    NAME(realloc), NAME(memalign)};

static atomic_long counts[N_CALLS];
static int failing = -1, failure;
static long first;
static size_t least;
static int lasting, counting;

/* Counts the call; returns how it must fail, or SHORT if it must give less; 0: it succeeds. */
static int
fails(int call)
{
    if (!counting)
        return 0;
    const long n = atomic_fetch_add(&counts[call], 1) + 1;
    if (call != failing || (lasting ? n < first : n != first))
        return 0;
    if (failure != SHORT)
        errno = failure;
    return failure;
}

/* The same for a call for `n` bytes of memory. */
static int
fails_of(int call, size_t n)
{
    return n >= least && fails(call);
}

static void
parse(const char *text)
{
    char *end;
    const char *colon = strchr(text, ':');
    for (int call = 0; colon && call < N_CALLS; call++)
        if (strlen(names[call]) == (size_t)(colon - text) &&
            strncmp(names[call], text, (size_t)(colon - text)) == 0)
            failing = call;
    if (failing < 0) {
        fprintf(stderr, "ADVERSARY_FAULT wants CALL:N:ERRNO, but is given %s\n", text);
        _exit(3);
    }
    first = strtol(colon + 1, &end, 10);
    lasting = *end == '+';
    end += lasting;
    failure = strcmp(end, ":short") == 0 ? SHORT : atoi(end + (*end == ':'));
}

static __attribute__((constructor)) void
begin(void)
{
    const char *text = getenv("ADVERSARY_FAULT"), *bytes = getenv("ADVERSARY_LEAST");
    least = bytes ? strtoul(bytes, NULL, 10) : 0;
    if (text)
        parse(text);
    counting = 1;
}

static __attribute__((destructor)) void
end(void)
{
    const char *path = getenv("ADVERSARY_COUNTS");
    counting = 0;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    for (int call = 0; call < N_CALLS; call++)
        fprintf(file, "%s %ld\n", names[call], (long)counts[call]);
    fclose(file);
}

/* Looks up the C library's own function. */
#define OWN(type, name)                                                                            \
    static type own;                                                                               \
    if (!own)                                                                                      \
    own = (type)dlsym(RTLD_NEXT, name)

/* ---- files ---- */

typedef int (*Open)(const char *, int, ...);
typedef int (*OpenAt)(int, const char *, int, ...);

static mode_t
mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                                          \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        OWN(Open, #name);                                                                          \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        const mode_t mode = mode_of(flags, arguments);                                             \
        va_end(arguments);                                                                         \
        return fails(CALL_open) ? -1 : own(path, flags, mode);                                     \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                                                        \
    int name(int folder, const char *path, int flags, ...)                                         \
    {                                                                                              \
        OWN(OpenAt, #name);                                                                        \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        const mode_t mode = mode_of(flags, arguments);                                             \
        va_end(arguments);                                                                         \
        return fails(CALL_open) ? -1 : own(folder, path, flags, mode);                             \
    }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

/* Defines a call that returns `bad` if it fails. */
#define DEFINE(result, name, call, bad, parameters, arguments)                                     \
    DEFINE_IF(result, name, fails(CALL_##call), bad, parameters, arguments)
#define DEFINE_IF(result, name, is_bad, bad, parameters, arguments)                                \
    result name parameters                                                                         \
    {                                                                                              \
        typedef result(*Own) parameters;                                                           \
        OWN(Own, #name);                                                                           \
        return is_bad ? bad : own arguments;                                                       \
    }

DEFINE(FILE *, fopen, fopen, NULL, (const char *path, const char *mode), (path, mode))
DEFINE(FILE *, fopen64, fopen, NULL, (const char *path, const char *mode), (path, mode))
DEFINE(DIR *, opendir, opendir, NULL, (const char *path), (path))
DEFINE(off_t, lseek, lseek, -1, (int fd, off_t offset, int from), (fd, offset, from))
DEFINE(off64_t, lseek64, lseek, -1, (int fd, off64_t offset, int from), (fd, offset, from))
DEFINE(int, fstat, fstat, -1, (int fd, struct stat *status), (fd, status))
DEFINE(int, fstat64, fstat, -1, (int fd, struct stat64 *status), (fd, status))
DEFINE(int, ftruncate, ftruncate, -1, (int fd, off_t length), (fd, length))
DEFINE(int, ftruncate64, ftruncate, -1, (int fd, off64_t length), (fd, length))
DEFINE(int, fallocate, fallocate, -1, (int fd, int mode, off_t from, off_t n), (fd, mode, from, n))
DEFINE(int, fallocate64, fallocate, -1, (int fd, int mode, off64_t from, off64_t n),
       (fd, mode, from, n))
DEFINE(int, posix_fallocate, fallocate, errno, (int fd, off_t from, off_t n), (fd, from, n))
DEFINE(int, posix_fallocate64, fallocate, errno, (int fd, off64_t from, off64_t n), (fd, from, n))
DEFINE(int, fsync, fsync, -1, (int fd), (fd))
DEFINE(int, fdatasync, fsync, -1, (int fd), (fd))
DEFINE(int, rename, rename, -1, (const char *from, const char *to), (from, to))
DEFINE(int, renameat, rename, -1, (int a, const char *from, int b, const char *to),
       (a, from, b, to))
DEFINE(int, unlink, unlink, -1, (const char *path), (path))
DEFINE(int, mkdir, mkdir, -1, (const char *path, mode_t mode), (path, mode))
DEFINE(int, msync, msync, -1, (void *memory, size_t n, int flags), (memory, n, flags))
DEFINE_IF(void *, mmap, fails_of(CALL_mmap, n), MAP_FAILED,
          (void *at, size_t n, int protection, int flags, int fd, off_t from),
          (at, n, protection, flags, fd, from))
DEFINE_IF(void *, mmap64, fails_of(CALL_mmap, n), MAP_FAILED,
          (void *at, size_t n, int protection, int flags, int fd, off64_t from),
          (at, n, protection, flags, fd, from))

/* The file is closed even if the call fails, as on Linux. */
int
close(int fd)
{
    typedef int (*Own)(int);
    OWN(Own, "close");
    const int failed = fails(CALL_close), status = own(fd);
    if (failed)
        errno = failed;
    return failed ? -1 : status;
}

/* Defines a call that may transfer less than it is asked for. */
#define DEFINE_PART(name, call, type, parameters, arguments)                                       \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        typedef ssize_t(*Own) parameters;                                                          \
        OWN(Own, #name);                                                                           \
        const int failed = fails(CALL_##call);                                                     \
        if (failed == SHORT && n > 1)                                                              \
            n /= 2;                                                                                \
        return failed > 0 ? -1 : own arguments;                                                    \
    }
DEFINE_PART(read, read, void *, (int fd, void *bytes, size_t n), (fd, bytes, n))
DEFINE_PART(pread, pread, void *, (int fd, void *bytes, size_t n, off_t at), (fd, bytes, n, at))
DEFINE_PART(pread64, pread, void *, (int fd, void *bytes, size_t n, off64_t at), (fd, bytes, n, at))
DEFINE_PART(write, write, void *, (int fd, const void *bytes, size_t n), (fd, bytes, n))
DEFINE_PART(pwrite, pwrite, void *, (int fd, const void *bytes, size_t n, off_t at),
            (fd, bytes, n, at))
DEFINE_PART(pwrite64, pwrite, void *, (int fd, const void *bytes, size_t n, off64_t at),
            (fd, bytes, n, at))
DEFINE_PART(writev, writev, void *, (int fd, const struct iovec *parts, int n), (fd, parts, n))

/* ---- threads and memory ---- */

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
               void *data)
{
    typedef int (*Own)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    OWN(Own, "pthread_create");
    return fails(CALL_pthread_create) ? failure : own(thread, attributes, run, data);
}

void *
malloc(size_t n)
{
    return fails_of(CALL_malloc, n) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
    return fails_of(CALL_calloc, n * size) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *memory, size_t n)
{
    return fails_of(CALL_realloc, n) ? NULL : __libc_realloc(memory, n);
}

void *
memalign(size_t alignment, size_t n)
{
    return fails_of(CALL_memalign, n) ? NULL : __libc_memalign(alignment, n);
}

void *
aligned_alloc(size_t alignment, size_t n)
{
    return memalign(alignment, n);
}

int
posix_memalign(void **memory, size_t alignment, size_t n)
{
    void *given = memalign(alignment, n);
    if (given)
        *memory = given;
    return given ? 0 : ENOMEM;
}
