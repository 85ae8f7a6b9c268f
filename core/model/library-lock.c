/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks for libraries that only one thread of the process may call, shared by all plugins. */
#include <cornerturn/stage.h>
#include <pthread.h>

/* The lock of a library. Locks are never freed: plugins stay loaded until the process ends. */
static pthread_mutex_t *
find_lock(const char *library)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static GHashTable *locks; /* name → pthread_mutex_t */

    pthread_mutex_lock(&guard);
    if (!locks)
        locks = g_hash_table_new(g_str_hash, g_str_equal);
    pthread_mutex_t *lock = g_hash_table_lookup(locks, library);
    if (!lock) {
        lock = g_new(pthread_mutex_t, 1);
        pthread_mutex_init(lock, NULL);
        g_hash_table_insert(locks, g_strdup(library), lock);
    }
    pthread_mutex_unlock(&guard);
    return lock;
}

void
ct_library_lock(const char *library)
{
    pthread_mutex_lock(find_lock(library));
}

void
ct_library_unlock(const char *library)
{
    pthread_mutex_unlock(find_lock(library));
}
