/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which variables are eliminated, and the table of each.
 *
 * The variable with the smallest message comes next. On chains and trees no message is over more
 * than one other variable; a diamond needs one over two. Where even the smallest message would be
 * too large, the variable in the most factors is fixed, and the order begins again without it. */
#include "solve-private.h"

#include <math.h>

void
ct_factor_free(gpointer data)
{
    CtFactor *factor = data;
    g_free(factor->variables);
    g_free(factor->strides);
    g_free(factor->cells);
    g_free(factor);
}

void
ct_bucket_free(gpointer data)
{
    CtBucket *bucket = data;
    for (guint p = 0; p < bucket->n_parts; p++)
        g_free(bucket->parts[p].strides);
    g_free(bucket->parts);
    g_free(bucket->others);
    g_free(bucket);
}

static gboolean
is_fixed(const CtSolver *solver, guint v)
{
    return ct_solver_variable(solver, v)->fixed >= 0;
}

/* The stride of variable `v` in `factor`; 0 where the factor does not contain it. */
static gsize
stride_of(const CtFactor *factor, guint v)
{
    for (guint i = 0; i < factor->n; i++) {
        if (factor->variables[i] == v)
            return factor->strides[i];
    }
    return 0;
}

static int
compare_index(const void *a, const void *b)
{
    const guint x = *(const guint *)a, y = *(const guint *)b;
    return (x > y) - (x < y);
}

/* The other variables in the factors of `v`, ascending, once each, without fixed ones. */
static GArray *
neighbours_of(const CtSolver *solver, GPtrArray *const *known, guint v)
{
    GArray *neighbours = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint f = 0; f < known[v]->len; f++) {
        const CtFactor *factor = g_ptr_array_index(known[v], f);
        for (guint i = 0; i < factor->n; i++) {
            if (factor->variables[i] != v && !is_fixed(solver, factor->variables[i]))
                g_array_append_val(neighbours, factor->variables[i]);
        }
    }
    if (neighbours->len > 0)
        qsort(neighbours->data, neighbours->len, sizeof(guint), compare_index);
    guint n = 0;
    for (guint i = 0; i < neighbours->len; i++) {
        const guint neighbour = g_array_index(neighbours, guint, i);
        if (n == 0 || g_array_index(neighbours, guint, n - 1) != neighbour)
            g_array_index(neighbours, guint, n++) = neighbour;
    }
    return g_array_set_size(neighbours, n);
}

static gdouble
entries_without(const CtSolver *solver, GPtrArray *const *known, guint v)
{
    g_autoptr(GArray) neighbours = neighbours_of(solver, known, v);
    gdouble entries = 1;
    for (guint i = 0; i < neighbours->len; i++)
        entries *= ct_solver_variable(solver, g_array_index(neighbours, guint, i))->n_choices;
    return entries;
}

/* Adds a bucket with these factors, borrowed, as its parts, and these other variables. */
static CtBucket *
add_bucket(CtSolver *solver, gint variable, const GPtrArray *factors, const GArray *others)
{
    CtBucket *bucket = g_new0(CtBucket, 1);
    bucket->variable = variable;
    bucket->n_choices = variable < 0 ? 1 : ct_solver_variable(solver, variable)->n_choices;
    bucket->n_others = others->len;
    bucket->others = g_memdup2(others->data, others->len * sizeof(guint));
    bucket->n_parts = factors->len;
    bucket->parts = g_new0(CtPart, factors->len + 1);
    for (guint p = 0; p < factors->len; p++) {
        CtPart *part = &bucket->parts[p];
        part->factor = g_ptr_array_index(factors, p);
        part->own = variable < 0 ? 0 : stride_of(part->factor, variable);
        part->strides = g_new(gsize, others->len + 1);
        for (guint i = 0; i < others->len; i++)
            part->strides[i] = stride_of(part->factor, bucket->others[i]);
    }
    CtFactor *message = g_new0(CtFactor, 1);
    message->n = others->len;
    message->variables = g_memdup2(others->data, others->len * sizeof(guint));
    message->strides = g_new(gsize, others->len + 1);
    message->n_entries = 1;
    message->bucket = (gint)solver->buckets->len;
    for (guint i = others->len; i-- > 0;) {
        message->strides[i] = message->n_entries;
        message->n_entries *= ct_solver_variable(solver, bucket->others[i])->n_choices;
    }
    bucket->n_entries = message->n_entries;
    bucket->message = message;
    g_ptr_array_add(solver->messages, message);
    g_ptr_array_add(solver->buckets, bucket);
    return bucket;
}

/* Adds the factor to those of each of its variables that is not fixed; where there is none, to
 * `rest`. */
static void
know(const CtSolver *solver, GPtrArray **known, GPtrArray *rest, CtFactor *factor)
{
    gboolean is_known = FALSE;
    for (guint i = 0; i < factor->n; i++) {
        if (is_fixed(solver, factor->variables[i]))
            continue;
        g_ptr_array_add(known[factor->variables[i]], factor);
        is_known = TRUE;
    }
    if (!is_known)
        g_ptr_array_add(rest, factor);
}

/* Finds two of the variables that are not eliminated yet: the one with the smallest message and the
 * one in the most factors. */
static void
find_next(const CtSolver *solver, GPtrArray *const *known, const gboolean *gone,
          const gdouble *entries, guint *next, guint *widest)
{
    const guint n = solver->variables->len;
    *next = *widest = n;
    for (guint v = 0; v < n; v++) {
        if (gone[v])
            continue;
        if (*next == n || entries[v] < entries[*next])
            *next = v;
        if (*widest == n || known[v]->len > known[*widest]->len)
            *widest = v;
    }
}

/* Tries to eliminate all variables. Returns the variable that must be fixed, or the number of
 * variables on success. */
static guint
try_order(CtSolver *solver, GPtrArray **known, GPtrArray *rest, gdouble max_entries)
{
    const guint n = solver->variables->len;
    g_autofree gboolean *gone = g_new0(gboolean, n + 1);
    g_autofree gdouble *entries = g_new(gdouble, n + 1);
    guint n_left = 0;
    for (guint f = 0; f < solver->given->len; f++)
        know(solver, known, rest, g_ptr_array_index(solver->given, f));
    for (guint v = 0; v < n; v++) {
        gone[v] = is_fixed(solver, v);
        n_left += !gone[v];
        entries[v] = entries_without(solver, known, v);
    }
    for (; n_left > 0; n_left--) {
        guint v, widest;
        find_next(solver, known, gone, entries, &v, &widest);
        if (entries[v] > max_entries)
            return widest;
        g_autoptr(GArray) others = neighbours_of(solver, known, v);
        g_autoptr(GPtrArray) factors = g_ptr_array_copy(known[v], NULL, NULL);
        const CtBucket *bucket = add_bucket(solver, (gint)v, factors, others);
        gone[v] = TRUE;
        for (guint f = 0; f < factors->len; f++) {
            CtFactor *factor = g_ptr_array_index(factors, f);
            for (guint i = 0; i < factor->n; i++)
                g_ptr_array_remove_fast(known[factor->variables[i]], factor);
        }
        know(solver, known, rest, bucket->message);
        for (guint i = 0; i < others->len; i++) {
            const guint other = g_array_index(others, guint, i);
            entries[other] = entries_without(solver, known, other);
        }
    }
    return n;
}

static void
order_within(CtSolver *solver, gdouble max_entries)
{
    const guint n = solver->variables->len;
    for (guint v = 0; v < n; v++)
        ct_solver_variable(solver, v)->fixed = -1;
    for (gboolean is_done = FALSE; !is_done;) {
        g_ptr_array_set_size(solver->buckets, 0);
        g_ptr_array_set_size(solver->messages, 0);
        g_autoptr(GPtrArray) all =
            g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
        for (guint v = 0; v < n; v++)
            g_ptr_array_add(all, g_ptr_array_new());
        g_autoptr(GPtrArray) rest = g_ptr_array_new();
        const guint to_fix = try_order(solver, (GPtrArray **)all->pdata, rest, max_entries);
        is_done = to_fix == n;
        if (is_done) {
            g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(guint));
            add_bucket(solver, -1, rest, none);
        } else {
            ct_solver_variable(solver, to_fix)->fixed = 0;
        }
    }
}

gboolean
ct_solver_any_fixed(const CtSolver *solver)
{
    for (guint v = 0; v < solver->variables->len; v++)
        if (is_fixed(solver, v))
            return TRUE;
    return FALSE;
}

static gdouble
count_look_ups(const CtSolver *solver)
{
    gdouble look_ups = 0;
    for (guint b = 0; b < solver->buckets->len; b++) {
        const CtBucket *bucket = ct_solver_bucket(solver, b);
        look_ups += (gdouble)bucket->n_entries * bucket->n_choices * bucket->n_parts;
    }
    return look_ups;
}

gsize
ct_solver_order(CtSolver *solver, gsize max_look_ups, gsize max_unfixed)
{
    order_within(solver, (gdouble)max_unfixed);
    gdouble look_ups = count_look_ups(solver);
    if (!ct_solver_any_fixed(solver) && look_ups <= (gdouble)max_unfixed)
        return (gsize)look_ups;
    look_ups = HUGE_VAL;
    for (gdouble max_entries = (gdouble)max_look_ups; look_ups > (gdouble)max_look_ups;
         max_entries /= 4) {
        order_within(solver, max_entries);
        look_ups = count_look_ups(solver);
        if (max_entries < 1)
            break;
    }
    return (gsize)look_ups;
}

/* ---- going through entries ---- */

void
ct_odometer_init(CtOdometer *odometer, const CtSolver *solver, const CtBucket *bucket,
                 gboolean at_first)
{
    *odometer = (CtOdometer){solver, bucket, g_new0(guint, bucket->n_others + 1),
                             g_new0(gsize, bucket->n_parts + 1)};
    for (guint p = 0; p < bucket->n_parts && !at_first; p++) {
        const CtFactor *factor = bucket->parts[p].factor;
        for (guint i = 0; i < factor->n; i++) {
            const gint fixed = ct_solver_variable(solver, factor->variables[i])->fixed;
            odometer->offsets[p] += fixed > 0 ? (gsize)fixed * factor->strides[i] : 0;
        }
    }
}

void
ct_odometer_step(CtOdometer *odometer)
{
    const CtBucket *bucket = odometer->bucket;
    for (guint i = bucket->n_others; i-- > 0;) {
        const guint n_choices = ct_solver_variable(odometer->solver, bucket->others[i])->n_choices;
        const gboolean wraps = ++odometer->choice[i] == n_choices;
        for (guint p = 0; p < bucket->n_parts; p++) {
            const gsize stride = bucket->parts[p].strides[i];
            odometer->offsets[p] += wraps ? -stride * (n_choices - 1) : stride;
        }
        if (!wraps)
            return;
        odometer->choice[i] = 0;
    }
}

void
ct_odometer_clear(CtOdometer *odometer)
{
    g_clear_pointer(&odometer->choice, g_free);
    g_clear_pointer(&odometer->offsets, g_free);
}
