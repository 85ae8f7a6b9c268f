/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how fast this machine is: its ceilings (multiply-adds, copies, transfers to devices),
 * and stages and pipelines beside them; and compares machines. */
#pragma once

#include <cornerturn/error.h>

G_BEGIN_DECLS

/* The figures of a machine. */
typedef struct CtBench CtBench;

/* The cases to measure, and for how long. */
typedef struct {
    const char *group; /* "ceilings", "stages", "pipelines", "all" of them, or "published": what the
                          field has published, at its sizes */
    const char *const *names; /* only cases with one of these in their names, NULL-terminated;
                                 NULL: all */
    guint n_workers;          /* 0: the number in CORNERTURN_WORKERS, or one for each processor */
    gdouble seconds;          /* of each case, at about; more than 0 */
    void (*progress)(const char *what, guint n_done, guint n,
                     gpointer user_data);    /* before each case; NULL: nobody asks */
    gboolean (*is_over)(gpointer user_data); /* whether to end early; NULL: never */
    gpointer user_data;
    guint64 reserved[8]; /* 0 */
} CtBenchHow;

/* Measures, on the thread of the caller. A case that this machine cannot run is no error: the
 * figures say why. */
CT_EXPORT CtBench *ct_bench(const CtBenchHow *how, GError **error);
/* Reads figures from the JSON that ct_bench_describe() has made. `name` stands for the file in
 * errors. */
CT_EXPORT CtBench *ct_bench_parse(const char *text, gssize length, const char *name,
                                  GError **error);
/* Keeps only the cases of `group`, a CtBenchHow's ("all" keeps all), with one of `names` in theirs
 * (NULL: all). Ceilings stay. FALSE with an error if a name chooses none. */
CT_EXPORT gboolean ct_bench_choose(CtBench *bench, const char *group, const char *const *names,
                                   GError **error);
CT_EXPORT void ct_bench_free(CtBench *bench);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtBench, ct_bench_free)

/* Describes figures as "text" (for people), "json" or "svg" (a picture: operations per byte against
 * operations per second). With `other`, unless NULL, a text has the figures of that machine beside
 * them, and says which one is faster at what. Allocated. */
CT_EXPORT char *ct_bench_describe(const CtBench *bench, const CtBench *other, const char *format,
                                  GError **error);

G_END_DECLS
