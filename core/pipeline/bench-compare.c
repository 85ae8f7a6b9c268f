/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that say which of two machines is faster at what, what binds it there, and which
 * machine has more of that. */
#include "bench-report.h"
#include "measure/tune-private.h"

#include <math.h>

/* Machines whose rates differ by less are as fast. */
static const gdouble alike = 1.03;
/* A ceiling binds from this share on, and is near from this one. */
static const gdouble least_share = 0.5, near_share = 0.25;

typedef enum { ARITHMETIC, MEMORY, TRANSFERS, N_BINDS } Bind;

static const struct {
    const char *name, *unit;
    gsize ceiling, share; /* members of CtBenchRow */
} binds[N_BINDS] = {
    {"arithmetic", "multiply-adds", offsetof(CtBenchRow, fma), offsetof(CtBenchRow, of_fma)},
    {"memory", "copies", offsetof(CtBenchRow, copy), offsetof(CtBenchRow, of_copy)},
    {"transfers", "transfers", offsetof(CtBenchRow, transfer), offsetof(CtBenchRow, of_transfer)},
};

static gdouble
member(const CtBenchRow *row, gsize offset)
{
    return *(const gdouble *)((const guint8 *)row + offset);
}

/* The ceiling to which a case is nearest on both machines together. */
static Bind
find_bind(const CtBenchRow *here, const CtBenchRow *there)
{
    Bind most = ARITHMETIC;
    gdouble highest = -1;
    for (Bind b = 0; b < N_BINDS; b++) {
        const gdouble share = member(here, binds[b].share) * member(there, binds[b].share);
        if (share > highest) {
            highest = share;
            most = b;
        }
    }
    return most;
}

/* ---- kinds of cases ---- */

/* The cases of a family that both machines have, each at the place where its machine is fastest. */
typedef struct {
    const char *name; /* NULL: the cases of all families */
    GArray *rates;    /* ratios of this machine to the other one */
    guint n_faster, n_slower;
    guint n_bound[N_BINDS];
    GArray *here[N_BINDS], *there[N_BINDS]; /* shares */
    GArray *ceilings[N_BINDS];              /* ratios */
    const CtBenchRow *other_variants[2]; /* a case whose variants differ, here and there; or NULL */
} Kind;

static void
kind_init(Kind *kind, const char *name)
{
    *kind = (Kind){.name = name, .rates = g_array_new(FALSE, FALSE, sizeof(gdouble))};
    for (Bind b = 0; b < N_BINDS; b++) {
        kind->here[b] = g_array_new(FALSE, FALSE, sizeof(gdouble));
        kind->there[b] = g_array_new(FALSE, FALSE, sizeof(gdouble));
        kind->ceilings[b] = g_array_new(FALSE, FALSE, sizeof(gdouble));
    }
}

static void
kind_clear(gpointer data)
{
    Kind *kind = data;
    g_array_unref(kind->rates);
    for (Bind b = 0; b < N_BINDS; b++) {
        g_array_unref(kind->here[b]);
        g_array_unref(kind->there[b]);
        g_array_unref(kind->ceilings[b]);
    }
}

static void
append(GArray *values, gdouble value)
{
    if (isfinite(value) && value > 0)
        g_array_append_val(values, value);
}

static gdouble
median(GArray *values)
{
    return values->len ? ct_tune_median(values) : NAN;
}

static void
kind_add(Kind *kind, const CtBenchRow *here, const CtBenchRow *there)
{
    const gdouble rate = here->samples / there->samples;
    append(kind->rates, rate);
    kind->n_faster += rate > alike;
    kind->n_slower += rate < 1 / alike;
    kind->n_bound[find_bind(here, there)]++;
    for (Bind b = 0; b < N_BINDS; b++) {
        append(kind->here[b], member(here, binds[b].share));
        append(kind->there[b], member(there, binds[b].share));
        append(kind->ceilings[b], member(here, binds[b].ceiling) / member(there, binds[b].ceiling));
    }
    if (!kind->other_variants[0] && g_strcmp0(here->variants, there->variants) != 0) {
        kind->other_variants[0] = here;
        kind->other_variants[1] = there;
    }
}

/* The fastest row of a case. */
static const CtBenchRow *
find_fastest(const CtBench *bench, const CtBenchRow *like)
{
    const CtBenchRow *fastest = NULL;
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *one = bench->rows->pdata[i];
        if (g_str_equal(one->group, like->group) && g_str_equal(one->name, like->name) &&
            one->samples > 0 && (!fastest || one->samples > fastest->samples))
            fastest = one;
    }
    return fastest;
}

static Kind *
find_kind(GArray *kinds, const char *name)
{
    for (guint i = 1; i < kinds->len; i++)
        if (g_str_equal(g_array_index(kinds, Kind, i).name, name))
            return &g_array_index(kinds, Kind, i);
    Kind kind;
    kind_init(&kind, name);
    g_array_append_val(kinds, kind);
    return &g_array_index(kinds, Kind, kinds->len - 1);
}

/* All cases together, and the families in the order of their first cases: a Kind each. */
static GArray *
compare(const CtBench *bench, const CtBench *other)
{
    GArray *kinds = g_array_new(FALSE, FALSE, sizeof(Kind));
    g_array_set_clear_func(kinds, kind_clear);
    Kind all;
    kind_init(&all, NULL);
    g_array_append_val(kinds, all);
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        const CtBenchRow *beside = find_fastest(other, row);
        if (!beside || find_fastest(bench, row) != row)
            continue;
        kind_add(find_kind(kinds, row->family), row, beside);
        kind_add(&g_array_index(kinds, Kind, 0), row, beside);
    }
    return kinds;
}

/* ---- words ---- */

/* 1: this machine is faster, −1: the other one, 0: both are alike. */
static gint
sign_of(gdouble ratio)
{
    return ratio > alike ? 1 : ratio < 1 / alike ? -1 : 0;
}

static const char *
who(gint sign)
{
    return sign < 0 ? "the other machine" : "this machine";
}

static gdouble
oriented(gdouble ratio, gint sign)
{
    return sign < 0 ? 1 / ratio : ratio;
}

/* "84% of multiply-adds here, 80% there" */
static void
append_shares(GString *text, const Kind *kind, Bind b)
{
    g_string_append_printf(text, "%.0f%% of %s here, %.0f%% there", 100 * median(kind->here[b]),
                           binds[b].unit, 100 * median(kind->there[b]));
}

/* Why one machine is faster though it has no more of what binds. */
static void
append_difference(GString *text, const Kind *kind)
{
    const CtBenchRow *const *rows = kind->other_variants;
    if (rows[0])
        g_string_append_printf(text, "; it runs other variants (%s: %s here, %s there)",
                               rows[0]->name, rows[0]->variants ? rows[0]->variants : "none",
                               rows[1]->variants ? rows[1]->variants : "none");
    else
        g_string_append(text, "; so caches, matrix instructions or overheads differ, or other "
                              "programs ran beside one of them");
}

/* "2.00", "286": as many digits as say something. */
static void
append_times(GString *text, gdouble times)
{
    g_string_append_printf(text, "%.*f", times < 10 ? 2 : times < 100 ? 1 : 0, times);
}

/* ", and this machine has 2.00 times the rate of copies". If both are as fast, the one that has
 * more is named. */
static void
append_ceiling(GString *text, gdouble ratio, const char *unit, gint sign)
{
    const gint more = sign != 0 ? sign : sign_of(ratio);
    if (more == 0) {
        g_string_append_printf(text, ", and both have the same rate of %s", unit);
        return;
    }
    g_string_append_printf(text, ", and %s has ", who(more));
    append_times(text, oriented(ratio, more));
    g_string_append_printf(text, " times the rate of %s", unit);
}

/* The ceiling to which most cases are nearest. */
static Bind
find_common(const Kind *kind)
{
    Bind most = ARITHMETIC;
    for (Bind b = 0; b < N_BINDS; b++)
        if (kind->n_bound[b] > kind->n_bound[most])
            most = b;
    return most;
}

static void
append_reason(GString *text, const Kind *kind, gint sign)
{
    const Bind b = find_common(kind);
    const gdouble ratio = median(kind->ceilings[b]);
    const gdouble share = fmax(median(kind->here[b]), median(kind->there[b]));
    const char *how = share < near_share      ? "No ceiling is near, the nearest is "
                      : share < least_share   ? "The nearest ceiling is "
                      : kind->rates->len == 1 ? "It is bound by "
                                              : "They are bound by ";
    if (!isfinite(ratio))
        return;
    g_string_append_printf(text, " %s%s: ", how, binds[b].name);
    append_shares(text, kind, b);
    append_ceiling(text, ratio, binds[b].unit, sign);
    if (sign != 0 && sign_of(oriented(ratio, sign)) <= 0)
        append_difference(text, kind);
    g_string_append(text, ".");
}

/* " (single cases: 0.57 to 1.52)", if cases differ: how far the median can be trusted. */
static void
append_range(GString *text, const Kind *kind, gint sign)
{
    gdouble least = INFINITY, most = 0;
    for (guint i = 0; i < kind->rates->len; i++) {
        const gdouble rate = oriented(g_array_index(kind->rates, gdouble, i), sign);
        least = fmin(least, rate);
        most = fmax(most, rate);
    }
    if (most < alike * least)
        return;
    g_string_append(text, " (single cases: ");
    append_times(text, least);
    g_string_append(text, " to ");
    append_times(text, most);
    g_string_append_c(text, ')');
}

static void
append_verdict(GString *text, const Kind *kind)
{
    const gdouble rate = median(kind->rates);
    const gint sign = sign_of(rate);
    g_string_append_printf(text, "%s%s%u case%s: ", kind->name ? kind->name : "All together", ", ",
                           kind->rates->len, kind->rates->len == 1 ? "" : "s");
    if (sign == 0) {
        g_string_append(text, "both are as fast, within 3%");
    } else {
        g_string_append_printf(text, "%s is ", who(sign));
        append_times(text, oriented(rate, sign));
        g_string_append(text, " times as fast");
    }
    append_range(text, kind, sign);
    g_string_append_c(text, '.');
    if (kind->name)
        append_reason(text, kind, sign);
}

/* A line for all families: in how many cases each machine is faster, and which ceilings are near.
 */
static void
append_all(GString *text, const Kind *all)
{
    append_verdict(text, all);
    const guint n_alike = all->rates->len - all->n_faster - all->n_slower;
    g_string_append_printf(text, " This machine is faster in %u, the other one in %u",
                           all->n_faster, all->n_slower);
    if (n_alike > 0)
        g_string_append_printf(text, "; in %u both are as fast", n_alike);
    g_string_append_c(text, '.');
    const char *between = " The nearest ceiling is ";
    for (Bind b = 0; b < N_BINDS; b++) {
        if (all->n_bound[b] == 0)
            continue;
        g_string_append_printf(text, "%s%s in %u", between, binds[b].name, all->n_bound[b]);
        between = ", ";
    }
    g_string_append(text, ".\n");
}

void
ct_bench_append_comparison(GString *text, const CtBench *bench, const CtBench *other)
{
    g_autoptr(GArray) kinds = compare(bench, other);
    if (kinds->len == 1 && bench->rows->len == 0)
        return;
    if (kinds->len == 1) {
        g_string_append(text, "\nThe machines have no case in common: both want the same group and "
                              "names.\n");
        return;
    }
    g_string_append(text, "\nWhich machine is faster, and what binds it: medians over cases, each "
                          "machine at its fastest place.\nIntegers and matrix instructions can "
                          "exceed multiply-adds, and caches exceed copies in memory.\n");
    for (guint i = 1; i < kinds->len; i++) {
        append_verdict(text, &g_array_index(kinds, Kind, i));
        g_string_append_c(text, '\n');
    }
    if (kinds->len > 2)
        append_all(text, &g_array_index(kinds, Kind, 0));
}
