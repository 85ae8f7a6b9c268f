/* SPDX-License-Identifier: BSD-3-Clause */
/* Images, and the files from which they are loaded. */
#include "emulator-image.h"

#include <glib/gstdio.h>
#include <pthread.h>
#include <string.h>

typedef struct {
    char magic[8];
    guint64 bytes;
} Head;

static const char magic[8] = "CTEMU01";

static struct {
    pthread_mutex_t lock;
    char *path;
    unsigned n_files;
} folder = {PTHREAD_MUTEX_INITIALIZER, NULL, 0};

GBytes *
emulator_image_new(const void *object, gsize bytes)
{
    Head head = {.bytes = bytes};
    memcpy(head.magic, magic, sizeof magic);
    GByteArray *image = g_byte_array_new();
    g_byte_array_append(image, (const guint8 *)&head, sizeof head);
    g_byte_array_append(image, object, (guint)bytes);
    return g_byte_array_free_to_bytes(image);
}

const void *
emulator_image_object(const void *image, gsize *bytes)
{
    Head head;
    memcpy(&head, image, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0)
        return NULL;
    *bytes = head.bytes;
    return (const guint8 *)image + sizeof head;
}

char *
emulator_folder(const char *prefix)
{
    const char *cache = g_getenv("CORNERTURN_EMULATOR_CACHE");
    const char *parent = cache && *cache ? cache : g_get_tmp_dir();
    g_autofree char *name = g_strconcat(prefix, "-XXXXXX", NULL);
    char *path = g_build_filename(parent, name, NULL);

    if (g_mkdir_with_parents(parent, 0700) == 0 && g_mkdtemp(path))
        return path;
    g_free(path);
    return NULL;
}

char *
emulator_image_path(void)
{
    pthread_mutex_lock(&folder.lock);
    if (!folder.path)
        folder.path = emulator_folder("cornerturn-emulator");
    char *path = g_strdup_printf("%s/%u.so", folder.path, folder.n_files++);
    pthread_mutex_unlock(&folder.lock);
    return path;
}

__attribute__((destructor)) static void
remove_folder(void)
{
    if (!folder.path)
        return;
    for (unsigned f = 0; f < folder.n_files; f++) {
        g_autofree char *path = g_strdup_printf("%s/%u.so", folder.path, f);
        g_unlink(path);
    }
    g_rmdir(folder.path);
    g_free(folder.path);
}
