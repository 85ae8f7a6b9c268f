/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the file of a plugin is safe to load: its owners and its length. */
#define _GNU_SOURCE
#include "plugin-file.h"

#include "model/own-file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of links that the kernel follows. */
#define MAX_LINKS 40
/* The most bytes of an entry in the databases of users and groups. */
#define MAX_ENTRY 65536

/* ---- owners ---- */

/* The trusted owner, besides root and the user, and the folders that are not checked. */
typedef struct {
    uid_t owner;   /* of this program's file */
    GArray *above; /* of struct stat: the folders above the program */
} Trust;

static void
trust_init(Trust *trust)
{
    struct stat status;
    g_autofree char *file = ct_own_file();
    *trust = (Trust){geteuid(), g_array_new(FALSE, FALSE, sizeof(struct stat))};
    if (!file || stat(file, &status) != 0)
        return;
    trust->owner = status.st_uid;
    for (char *slash = strrchr(file, '/'); slash; slash = strrchr(file, '/')) {
        *slash = '\0';
        if (stat(*file ? file : "/", &status) == 0)
            g_array_append_val(trust->above, status);
    }
}

static void
trust_clear(Trust *trust)
{
    g_array_unref(trust->above);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Trust, trust_clear)

static gboolean
holds_program(const Trust *trust, const struct stat *status)
{
    for (guint i = 0; i < trust->above->len; i++) {
        const struct stat *folder = &g_array_index(trust->above, struct stat, i);
        if (folder->st_dev == status->st_dev && folder->st_ino == status->st_ino)
            return TRUE;
    }
    return FALSE;
}

/* Whether the group is private to the owner: it has the owner's name and no other members. */
static gboolean
is_private_group(const struct stat *status)
{
    g_autofree char *user_text = g_malloc(MAX_ENTRY), *group_text = g_malloc(MAX_ENTRY);
    struct passwd user, *has_user = NULL;
    struct group group, *has_group = NULL;
    getpwuid_r(status->st_uid, &user, user_text, MAX_ENTRY, &has_user);
    getgrgid_r(status->st_gid, &group, group_text, MAX_ENTRY, &has_group);
    if (!has_user || !has_group || user.pw_gid != group.gr_gid ||
        strcmp(user.pw_name, group.gr_name) != 0)
        return FALSE;
    for (char **member = group.gr_mem; *member; member++)
        if (strcmp(*member, user.pw_name) != 0)
            return FALSE;
    return TRUE;
}

static char *
find_fault_of_owner(const Trust *trust, const char *path, const struct stat *status)
{
    const uid_t owner = status->st_uid;
    if (owner == 0 || owner == geteuid() || owner == trust->owner)
        return NULL;
    return g_strdup_printf("is not loaded, for %s belongs to user %u, neither to root nor to user "
                           "%u, who runs this",
                           path, (guint)owner, (guint)geteuid());
}

static char *
find_fault_of_entry(const Trust *trust, const char *path, const struct stat *status)
{
    const gboolean is_folder = S_ISDIR(status->st_mode);
    if (is_folder && holds_program(trust, status))
        return NULL;
    char *fault = find_fault_of_owner(trust, path, status);
    if (fault || (is_folder && status->st_mode & S_ISVTX && status->st_uid == 0))
        return fault;
    if (status->st_mode & S_IWOTH)
        return g_strdup_printf("is not loaded, for everybody may write %s: chmod o-w %s", path,
                               path);
    if (status->st_mode & S_IWGRP && !is_private_group(status))
        return g_strdup_printf("is not loaded, for group %u may write %s: chmod g-w %s",
                               (guint)status->st_gid, path, path);
    return NULL;
}

static char *
describe_errno(const char *path, const char *what)
{
    const int number = errno;
    return g_strdup_printf("%s%s%s: %s", path, *path ? " " : "", what, g_strerror(number));
}

/* The target of the link `path`, followed by `rest`; NULL if it cannot be read. */
static char *
follow(const char *path, const char *rest)
{
    g_autofree char *target = g_file_read_link(path, NULL);
    if (!target)
        return NULL;
    g_autofree char *folder = g_path_get_dirname(path);
    return g_path_is_absolute(target) ? g_strconcat(target, "/", rest, NULL)
                                      : g_strconcat(folder, "/", target, "/", rest, NULL);
}

/* Checks every step of an absolute path, links included. Each step is in a folder that has been
 * checked before it. */
static char *
find_fault_of_path(const Trust *trust, const char *given, guint n_links)
{
    g_autoptr(GString) at = g_string_new("/");
    g_auto(GStrv) steps = g_strsplit(given, "/", -1);
    char *fault = NULL;
    for (guint i = 0; steps[i] && !fault; i++) {
        struct stat status;
        if (i > 0 && (!*steps[i] || g_str_equal(steps[i], ".")))
            continue;
        if (g_str_equal(steps[i], "..")) {
            g_string_truncate(at, MAX(strrchr(at->str, '/') - at->str, 1));
            continue;
        }
        if (i > 0)
            g_string_append_printf(at, "%s%s", at->len > 1 ? "/" : "", steps[i]);
        if (lstat(at->str, &status) != 0)
            return describe_errno(at->str, "can't be looked at");
        if (!S_ISLNK(status.st_mode)) {
            fault = find_fault_of_entry(trust, at->str, &status);
            continue;
        }
        fault = find_fault_of_owner(trust, at->str, &status);
        if (fault)
            return fault;
        g_autofree char *rest = g_strjoinv("/", &steps[i + 1]);
        g_autofree char *next = n_links < MAX_LINKS ? follow(at->str, rest) : NULL;
        return next ? find_fault_of_path(trust, next, n_links + 1)
                    : g_strdup_printf("%s is a link that leads nowhere", at->str);
    }
    return fault;
}

/* ---- contents ---- */

static gboolean
read_at(int file, gpointer data, gsize bytes, gsize offset)
{
    return pread(file, data, bytes, (off_t)offset) == (gssize)bytes;
}

/* The length of the file according to its headers, including the segment headers that are
 * present. */
static guint64
length_by_headers(int file, const ElfW(Ehdr) * header)
{
    guint64 length = header->e_phoff + (guint64)header->e_phnum * header->e_phentsize;
    length = MAX(length, header->e_shoff + (guint64)header->e_shnum * header->e_shentsize);
    for (guint i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        if (read_at(file, &segment, sizeof segment, header->e_phoff + i * sizeof segment))
            length = MAX(length, segment.p_offset + segment.p_filesz);
    }
    return length;
}

static char *
find_fault_of_contents(int file, guint64 bytes)
{
    const guint8 class = sizeof(gpointer) == 8 ? ELFCLASS64 : ELFCLASS32;
    ElfW(Ehdr) header;
    if (!read_at(file, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != class || header.e_phentsize != sizeof(ElfW(Phdr)))
        return g_strdup("is no shared object of this machine");
    const guint64 wanted = length_by_headers(file, &header);
    if (wanted > bytes)
        return g_strdup_printf("is cut short: its headers tell of %" G_GUINT64_FORMAT
                               " bytes, but it has %" G_GUINT64_FORMAT,
                               wanted, bytes);
    return NULL;
}

/* Only regular files may be opened: opening others might block or have an effect. */
static char *
find_fault_of_kind(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return describe_errno("", "can't be opened");
    return S_ISREG(status.st_mode) ? NULL : g_strdup("is no regular file");
}

static char *
find_fault_of_file(const char *path)
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return describe_errno("", "can't be opened");
    char *fault = fstat(file, &status) != 0 ? describe_errno("", "can't be opened")
                                            : find_fault_of_contents(file, (guint64)status.st_size);
    close(file);
    return fault;
}

char *
ct_plugin_file_find_fault(const char *path)
{
    g_auto(Trust) trust;
    trust_init(&trust);
    char *here = getcwd(NULL, 0);
    g_autofree char *whole =
        g_path_is_absolute(path) ? g_strdup(path) : g_strconcat(here ? here : "", "/", path, NULL);
    free(here);
    char *fault = find_fault_of_kind(path);
    if (!fault)
        fault = find_fault_of_path(&trust, whole, 0);
    return fault ? fault : find_fault_of_file(path);
}
