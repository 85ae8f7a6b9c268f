/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the locks for libraries that only one thread may call. */
#include <cornerturn/stage.h>

#define N_THREADS 4
#define N_TURNS   2000

/* State of libraries that is not safe for threads. */
static struct {
    const char *name;
    volatile guint n_calls;
} libraries[] = {{"one", 0}, {"other", 0}};

static void
call_library(guint i)
{
    /* Equal texts at different addresses, as in two plugins. */
    g_autofree char *name = g_strdup(libraries[i].name);
    ct_library_lock(name);
    const guint before = libraries[i].n_calls;
    g_thread_yield();
    libraries[i].n_calls = before + 1;
    ct_library_unlock(name);
}

static gpointer
call_often(G_GNUC_UNUSED gpointer data)
{
    for (guint turn = 0; turn < N_TURNS; turn++)
        call_library(turn % G_N_ELEMENTS(libraries));
    return NULL;
}

/* No call is lost, from any thread. */
static void
test_threads(void)
{
    GThread *threads[N_THREADS];

    for (guint i = 0; i < N_THREADS; i++)
        threads[i] = g_thread_new("caller", call_often, NULL);
    for (guint i = 0; i < N_THREADS; i++)
        g_thread_join(threads[i]);
    for (guint i = 0; i < G_N_ELEMENTS(libraries); i++)
        g_assert_cmpuint(libraries[i].n_calls, ==, N_THREADS * N_TURNS / G_N_ELEMENTS(libraries));
}

static gpointer
call_other(G_GNUC_UNUSED gpointer data)
{
    call_library(1);
    return NULL;
}

/* The lock of one library does not block calls of another one. */
static void
test_names(void)
{
    const guint before = libraries[1].n_calls;

    ct_library_lock(libraries[0].name);
    g_thread_join(g_thread_new("caller", call_other, NULL));
    ct_library_unlock(libraries[0].name);
    g_assert_cmpuint(libraries[1].n_calls, ==, before + 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/library-lock/threads", test_threads);
    g_test_add_func("/library-lock/names", test_names);
    return g_test_run();
}
