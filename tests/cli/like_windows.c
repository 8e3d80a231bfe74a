/* Of LD_PRELOAD: below $LIKE_WINDOWS, files are as on Windows. A name is found by any case, some names are refused, a
   file or directory that a process has open is neither removed nor replaced, and there are no symbolic links.

   It is libc that is spoken to, so Rust and SQLite find it so, too. Both open their files so that they can be removed
   on Windows as well: of what they keep, only the renaming of a directory is refused. What asks the kernel without libc,
   as LanceDB does for its temporary files, is not seen. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
enum { LOOKED_FOR, MADE };

static int refused(const char *part) {
    static const char *const devices[] = {"con", "prn", "aux", "nul", "com1", "lpt1", 0};
    size_t length = strlen(part), stem = strcspn(part, ".");
    for (const char *const *device = devices; *device; device++)
        if (stem == strlen(*device) && !strncasecmp(part, *device, stem)) return 1;
    return strpbrk(part, "<>:\"|?*\\") || strchr(". ", part[length - 1]);
}

/* The path as it is on the disk; NULL, with errno, for a name that cannot be. */
static const char *on_disk(int directory, const char *path, char *room, int why) {
    const char *root = getenv("LIKE_WINDOWS");
    char whole[2 * PATH_MAX], link[64];
    size_t length = root ? strlen(root) : 0;
    if (!length || !path || !*path) return path;
    *whole = 0;
    if (*path != '/') {
        if (directory == AT_FDCWD) {
            if (!getcwd(whole, PATH_MAX)) return path;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
            ssize_t got = REAL(readlink)(link, whole, PATH_MAX - 1);
            if (got < 0) return path;
            whole[got] = 0;
        }
        strcat(whole, "/");
    }
    strncat(whole, path, PATH_MAX);
    if (strncmp(whole, root, length) || whole[length] != '/') return path;
    strcpy(room, root);
    char *rest = 0;
    for (char *part = strtok_r(whole + length, "/", &rest); part; part = strtok_r(0, "/", &rest)) {
        if (!strcmp(part, ".")) continue;
        if (!strcmp(part, "..")) {
            *strrchr(room, '/') = 0;
            continue;
        }
        if (refused(part)) {
            errno = why == MADE ? EINVAL : ENOENT;
            return 0;
        }
        size_t end = strlen(room);
        struct stat found;
        snprintf(room + end, PATH_MAX - end, "/%s", part);
        if (!REAL(lstat)(room, &found)) continue;
        room[end] = 0;
        DIR *entries = REAL(opendir)(room);
        room[end] = '/';
        for (struct dirent *entry; entries && (entry = readdir(entries));)
            if (!strcasecmp(entry->d_name, part)) strcpy(room + end + 1, entry->d_name);
        if (entries) closedir(entries);
    }
    return room;
}

static int is_of_an_engine(const char *path) {
    const char *name = strrchr(path, '/') + 1;
    static const char *const ends[] = {"-wal", "-shm", "-journal", ".sst", ".log", ".dbtmp", 0};
    for (const char *const *end = ends; *end; end++)
        if (strlen(name) >= strlen(*end) && !strcmp(name + strlen(name) - strlen(*end), *end)) return 1;
    return strstr(path, ".lance/") || strstr(name, "MANIFEST-") || strstr(name, "OPTIONS") || !strncmp(name, "LOG", 3);
}

/* Whether a process has a file open, or one below a directory; errno says so as Windows does. */
static int is_open(const char *path) {
    const char *root = getenv("LIKE_WINDOWS");
    struct stat found;
    if (!root || !path || strncmp(path, root, strlen(root)) || REAL(lstat)(path, &found)) return 0;
    if (!S_ISDIR(found.st_mode) && is_of_an_engine(path)) return 0;
    int is_held = 0;
    size_t length = strlen(path);
    DIR *processes = REAL(opendir)("/proc");
    for (struct dirent *process; processes && !is_held && (process = readdir(processes));) {
        if (!isdigit((unsigned char)*process->d_name)) continue;
        char place[300], target[PATH_MAX];
        snprintf(place, sizeof place, "/proc/%s/fd", process->d_name);
        DIR *descriptors = REAL(opendir)(place);
        for (struct dirent *one; descriptors && !is_held && (one = readdir(descriptors));) {
            char link[600];
            snprintf(link, sizeof link, "%s/%s", place, one->d_name);
            ssize_t got = REAL(readlink)(link, target, sizeof target - 1);
            if (got < 0) continue;
            target[got] = 0;
            is_held = !strncmp(target, path, length) && !strstr(target, " (deleted)") &&
                      (!target[length] ? !S_ISDIR(found.st_mode) : target[length] == '/');
        }
        if (descriptors) closedir(descriptors);
        snprintf(place, sizeof place, "/proc/%s/maps", process->d_name);
        FILE *maps = is_held ? 0 : REAL(fopen)(place, "r");
        while (maps && !is_held && fgets(target, sizeof target, maps)) {
            char *name = strchr(target, '/');
            if (!name) continue;
            name[strcspn(name, "\n")] = 0;
            is_held = !strncmp(name, path, length) && !strstr(name, " (deleted)") && (!name[length] || name[length] == '/');
        }
        if (maps) fclose(maps);
    }
    if (processes) closedir(processes);
    if (is_held) errno = EACCES;
    return is_held;
}

#define ON_DISK(directory, path, why, failed)                             \
    char room_of_##path[PATH_MAX];                                        \
    if (!(path = on_disk(directory, path, room_of_##path, why)) && !errno) \
        errno = EFAULT;                                                   \
    if (!path) return failed

#define OPEN(name)                                                  \
    int name(const char *path, int flags, ...) {                    \
        va_list rest;                                               \
        va_start(rest, flags);                                      \
        mode_t mode = va_arg(rest, mode_t);                         \
        va_end(rest);                                               \
        ON_DISK(AT_FDCWD, path, flags &O_CREAT ? MADE : LOOKED_FOR, -1); \
        return REAL(name)(path, flags, mode);                       \
    }
OPEN(open)
OPEN(open64)
#define OPEN_AT(name)                                              \
    int name(int at, const char *path, int flags, ...) {           \
        va_list rest;                                              \
        va_start(rest, flags);                                     \
        mode_t mode = va_arg(rest, mode_t);                        \
        va_end(rest);                                              \
        ON_DISK(at, path, flags &O_CREAT ? MADE : LOOKED_FOR, -1); \
        return REAL(name)(at, path, flags, mode);                  \
    }
OPEN_AT(openat)
OPEN_AT(openat64)

/* What only has its path found. */
#define FOUND(type, failed, name, at, parameters, arguments) \
    type name parameters {                                   \
        ON_DISK(at, path, LOOKED_FOR, failed);               \
        return REAL(name) arguments;                         \
    }
FOUND(FILE *, 0, fopen, AT_FDCWD, (const char *path, const char *mode), (path, mode))
FOUND(FILE *, 0, fopen64, AT_FDCWD, (const char *path, const char *mode), (path, mode))
FOUND(DIR *, 0, opendir, AT_FDCWD, (const char *path), (path))
FOUND(int, -1, stat, AT_FDCWD, (const char *path, struct stat *to), (path, to))
FOUND(int, -1, lstat, AT_FDCWD, (const char *path, struct stat *to), (path, to))
FOUND(int, -1, stat64, AT_FDCWD, (const char *path, struct stat64 *to), (path, to))
FOUND(int, -1, lstat64, AT_FDCWD, (const char *path, struct stat64 *to), (path, to))
FOUND(int, -1, fstatat, at, (int at, const char *path, struct stat *to, int how), (at, path, to, how))
FOUND(int, -1, fstatat64, at, (int at, const char *path, struct stat64 *to, int how), (at, path, to, how))
FOUND(int, -1, statx, at, (int at, const char *path, int how, unsigned what, struct statx *to), (at, path, how, what, to))
FOUND(int, -1, access, AT_FDCWD, (const char *path, int mode), (path, mode))
FOUND(int, -1, faccessat, at, (int at, const char *path, int mode, int how), (at, path, mode, how))
FOUND(ssize_t, -1, readlink, AT_FDCWD, (const char *path, char *to, size_t size), (path, to, size))
FOUND(int, -1, chmod, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
FOUND(int, -1, chdir, AT_FDCWD, (const char *path), (path))
FOUND(int, -1, truncate, AT_FDCWD, (const char *path, off_t size), (path, size))
FOUND(int, -1, truncate64, AT_FDCWD, (const char *path, off64_t size), (path, size))
FOUND(int, -1, utimensat, at, (int at, const char *path, const struct timespec to[2], int how), (at, path, to, how))

/* Of programs that were built for an older libc. */
int __xstat(int, const char *, struct stat *), __lxstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *), __lxstat64(int, const char *, struct stat64 *);
FOUND(int, -1, __xstat, AT_FDCWD, (int version, const char *path, struct stat *to), (version, path, to))
FOUND(int, -1, __lxstat, AT_FDCWD, (int version, const char *path, struct stat *to), (version, path, to))
FOUND(int, -1, __xstat64, AT_FDCWD, (int version, const char *path, struct stat64 *to), (version, path, to))
FOUND(int, -1, __lxstat64, AT_FDCWD, (int version, const char *path, struct stat64 *to), (version, path, to))

#define NEW(name, at, parameters, arguments) \
    int name parameters {                    \
        ON_DISK(at, path, MADE, -1);         \
        return REAL(name) arguments;         \
    }
NEW(mkdir, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
NEW(mkdirat, at, (int at, const char *path, mode_t mode), (at, path, mode))

#define GONE(name, at, parameters, arguments)            \
    int name parameters {                                \
        ON_DISK(at, path, LOOKED_FOR, -1);               \
        return is_open(path) ? -1 : REAL(name) arguments; \
    }
GONE(unlink, AT_FDCWD, (const char *path), (path))
GONE(rmdir, AT_FDCWD, (const char *path), (path))
GONE(unlinkat, at, (int at, const char *path, int how), (at, path, how))

#define MOVED(name, is_a_move, at, to_at, parameters, arguments)                     \
    int name parameters {                                                            \
        ON_DISK(at, path, LOOKED_FOR, -1);                                           \
        ON_DISK(to_at, to, MADE, -1);                                                \
        return is_a_move && (is_open(path) || is_open(to)) ? -1 : REAL(name) arguments; \
    }
MOVED(rename, 1, AT_FDCWD, AT_FDCWD, (const char *path, const char *to), (path, to))
MOVED(renameat, 1, at, to_at, (int at, const char *path, int to_at, const char *to), (at, path, to_at, to))
MOVED(link, 0, AT_FDCWD, AT_FDCWD, (const char *path, const char *to), (path, to))
MOVED(linkat, 0, at, to_at, (int at, const char *path, int to_at, const char *to, int how), (at, path, to_at, to, how))

int renameat2(int at, const char *path, int to_at, const char *to, unsigned how) {
    (void)at, (void)path, (void)to_at, (void)to, (void)how;
    errno = ENOSYS;
    return -1;
}
int symlink(const char *path, const char *to) {
    (void)path, (void)to;
    errno = EPERM;
    return -1;
}
