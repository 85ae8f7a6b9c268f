/* SPDX-License-Identifier: BSD-3-Clause */
/* The token: 256 random bits in a file that only the user can read. */
#include "control-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANDOM_BYTES = 32, LEAST_LENGTH = 32, MOST_LENGTH = 1024 };

static gboolean
fail(const char *path, const char *why, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "the token's file %s: %s", path, why);
    return FALSE;
}

static gboolean
make(CtControlToken *token, GError **error)
{
    guint8 bytes[RANDOM_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return fail(token->path, g_strerror(errno), error);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < sizeof bytes; i++)
        g_string_append_printf(text, "%02x", bytes[i]);
    token->text = g_string_free(text, FALSE);
    const int file = open(token->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return fail(token->path, g_strerror(errno), error);
    token->is_made = TRUE;
    g_autofree char *line = g_strconcat(token->text, "\n", NULL);
    const gboolean good = write(file, line, strlen(line)) == (gssize)strlen(line);
    close(file);
    return good || fail(token->path, "cannot be written", error);
}

/* Why the file cannot hold a token; NULL: it can. */
static const char *
find_fault(int file)
{
    struct stat found;
    if (fstat(file, &found) != 0)
        return g_strerror(errno);
    if (!S_ISREG(found.st_mode))
        return "is no regular file";
    if (found.st_uid != geteuid())
        return "belongs to another user";
    if (found.st_mode & 077)
        return "wants mode 0600, but others may use it";
    return NULL;
}

static gboolean
read_file(CtControlToken *token, int file, GError **error)
{
    char text[MOST_LENGTH + 1];
    const char *fault = find_fault(file);
    const gssize n = fault ? 0 : read(file, text, sizeof text);
    close(file);
    if (fault || n < 0)
        return fail(token->path, fault ? fault : g_strerror(errno), error);
    token->text = g_strstrip(g_strndup(text, (gsize)n));
    const gsize length = strlen(token->text);
    gboolean good = n <= MOST_LENGTH && length >= LEAST_LENGTH;
    for (gsize i = 0; i < length; i++)
        good &= g_ascii_isgraph(token->text[i]);
    return good || fail(token->path,
                        "wants one word of 32 to 1024 letters, digits and signs of ASCII", error);
}

gboolean
ct_control_token_open(CtControlToken *token, const char *path, const char *fallback, GError **error)
{
    token->path = g_strdup(path ? path : fallback);
    /* One that a run has left that was killed. */
    if (!path && unlink(fallback) != 0 && errno != ENOENT)
        return fail(fallback, g_strerror(errno), error);
    const int file = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (file >= 0)
        return read_file(token, file, error);
    if (path && errno != ENOENT)
        return fail(path, g_strerror(errno), error);
    return make(token, error);
}

gboolean
ct_control_token_is(const CtControlToken *token, const char *given)
{
    const gsize length = strlen(token->text);
    volatile guchar difference = 0;
    if (strlen(given) != length)
        return FALSE;
    for (gsize i = 0; i < length; i++)
        difference |= (guchar)(token->text[i] ^ given[i]);
    return difference == 0;
}

void
ct_control_token_clear(CtControlToken *token)
{
    if (token->is_made)
        unlink(token->path);
    g_free(token->path);
    g_free(token->text);
    *token = (CtControlToken){0};
}
