/* SPDX-License-Identifier: BSD-3-Clause */
/* The least weighted sum over all choices, by eliminating one variable after another; and, in a
 * pass backwards, the least of everything outside each message. */
#include "solve-private.h"

#include <math.h>

static gdouble
weigh(const CtPass *pass, const gdouble *vector)
{
    const guint n = pass->solver->n_sums;
    if (vector[n] > pass->limit)
        return HUGE_VAL;
    gdouble sum = 0;
    for (guint i = 0; i < n; i++)
        sum += pass->weights[i] * vector[i];
    return sum;
}

static void
weigh_cells(CtPass *pass)
{
    const CtSolver *solver = pass->solver;
    pass->scalars = g_new(gdouble, solver->starts->len);
    for (guint cell = 0; cell < solver->starts->len; cell++) {
        guint begin, end;
        ct_solver_cell(solver, cell, &begin, &end);
        pass->scalars[cell] = HUGE_VAL;
        for (guint v = begin; v < end; v++)
            pass->scalars[cell] =
                MIN(pass->scalars[cell], weigh(pass, ct_solver_vector(solver, v)));
    }
}

/* For each entry of a factor, the least over the choices that fixed variables may make; these are
 * at their first choice in the table. NULL: the factor has no fixed variable. */
static gdouble *
reduce(const CtPass *pass, const CtFactor *factor)
{
    const CtSolver *solver = pass->solver;
    gboolean any = FALSE;
    for (guint i = 0; i < factor->n; i++)
        any |= ct_solver_variable(solver, factor->variables[i])->fixed >= 0;
    if (!any)
        return NULL;
    gdouble *table = g_new(gdouble, factor->n_entries);
    for (gsize e = 0; e < factor->n_entries; e++)
        table[e] = HUGE_VAL;
    for (gsize e = 0; e < factor->n_entries; e++) {
        gsize at = e;
        gboolean may_be = TRUE;
        for (guint i = 0; i < factor->n; i++) {
            const CtVariable *variable = ct_solver_variable(solver, factor->variables[i]);
            const gsize choice = e / factor->strides[i] % variable->n_choices;
            if (variable->fixed < 0)
                continue;
            at -= choice * factor->strides[i];
            may_be &= factor->variables[i] >= pass->free_from || choice == (gsize)variable->fixed;
        }
        if (may_be)
            table[at] = MIN(table[at], pass->scalars[factor->cells[e]]);
    }
    return table;
}

gdouble
ct_pass_part(const CtPass *pass, const CtPart *part, gsize offset)
{
    const CtFactor *factor = part->factor;
    if (!factor->cells)
        return pass->up[factor->bucket][offset];
    if (pass->reduced && pass->reduced[factor->index])
        return pass->reduced[factor->index][offset];
    return pass->scalars[factor->cells[offset]];
}

/* The sums of a bucket's parts for each of its choices. */
static void
sum_parts(const CtPass *pass, const CtBucket *bucket, const gsize *offsets, gdouble *sums)
{
    for (guint k = 0; k < bucket->n_choices; k++)
        sums[k] = 0;
    for (guint p = 0; p < bucket->n_parts; p++) {
        const CtPart *part = &bucket->parts[p];
        const CtFactor *factor = part->factor;
        const gdouble *table = factor->cells ? pass->reduced ? pass->reduced[factor->index] : NULL
                                             : pass->up[factor->bucket];
        for (guint k = 0; k < bucket->n_choices; k++) {
            const gsize at = offsets[p] + k * part->own;
            sums[k] += table ? table[at] : pass->scalars[factor->cells[at]];
        }
    }
}

CtPass *
ct_pass_new(const CtSolver *solver, const gdouble *weights, gdouble limit, guint free_from)
{
    CtPass *pass = g_new0(CtPass, 1);
    pass->solver = solver;
    pass->weights = g_memdup2(weights, solver->n_sums * sizeof(*weights));
    pass->limit = limit;
    pass->free_from = free_from;
    weigh_cells(pass);
    const gboolean any_free = free_from != CT_NONE_FREE;
    if (any_free) {
        pass->reduced = g_new0(gdouble *, solver->given->len + 1);
        for (guint f = 0; f < solver->given->len; f++)
            pass->reduced[f] = reduce(pass, g_ptr_array_index(solver->given, f));
    }
    pass->up = g_new0(gdouble *, solver->buckets->len + 1);
    for (guint b = 0; b < solver->buckets->len; b++) {
        const CtBucket *bucket = ct_solver_bucket(solver, b);
        g_auto(CtOdometer) odometer;
        ct_odometer_init(&odometer, solver, bucket, any_free);
        g_autofree gdouble *sums = g_new(gdouble, bucket->n_choices);
        pass->up[b] = g_new(gdouble, bucket->n_entries);
        for (gsize e = 0; e < bucket->n_entries; e++) {
            sum_parts(pass, bucket, odometer.offsets, sums);
            gdouble least = sums[0];
            for (guint k = 1; k < bucket->n_choices; k++)
                least = MIN(least, sums[k]);
            pass->up[b][e] = least;
            ct_odometer_step(&odometer);
        }
    }
    pass->least = pass->up[solver->buckets->len - 1][0];
    return pass;
}

void
ct_pass_free(CtPass *pass)
{
    if (!pass)
        return;
    for (guint b = 0; b < pass->solver->buckets->len; b++) {
        g_free(pass->up[b]);
        if (pass->down)
            g_free(pass->down[b]);
    }
    for (guint f = 0; pass->reduced && f < pass->solver->given->len; f++)
        g_free(pass->reduced[f]);
    g_free(pass->up);
    g_free(pass->down);
    g_free(pass->reduced);
    g_free(pass->scalars);
    g_free(pass->weights);
    g_free(pass);
}

/* Passes on, to the buckets whose messages are parts of bucket `b`, the least of everything outside
 * them. */
static void
tell_parts(CtPass *pass, guint b)
{
    const CtBucket *bucket = ct_solver_bucket(pass->solver, b);
    g_auto(CtOdometer) odometer;
    ct_odometer_init(&odometer, pass->solver, bucket, pass->reduced != NULL);
    g_autofree gdouble *sums = g_new(gdouble, bucket->n_choices);
    for (gsize e = 0; e < bucket->n_entries; e++) {
        sum_parts(pass, bucket, odometer.offsets, sums);
        for (guint p = 0; p < bucket->n_parts; p++) {
            const CtPart *part = &bucket->parts[p];
            if (part->factor->cells)
                continue;
            const guint below = (guint)part->factor->bucket;
            for (guint k = 0; k < bucket->n_choices; k++) {
                const gsize at = odometer.offsets[p] + k * part->own;
                const gdouble all = sums[k] + pass->down[b][e];
                if (all < HUGE_VAL)
                    pass->down[below][at] = MIN(pass->down[below][at], all - pass->up[below][at]);
            }
        }
        ct_odometer_step(&odometer);
    }
}

void
ct_pass_complete(CtPass *pass)
{
    const guint n = pass->solver->buckets->len;
    pass->down = g_new0(gdouble *, n + 1);
    for (guint b = 0; b < n; b++) {
        const gsize n_entries = ct_solver_bucket(pass->solver, b)->n_entries;
        pass->down[b] = g_new(gdouble, n_entries);
        for (gsize e = 0; e < n_entries; e++)
            pass->down[b][e] = b + 1 < n ? HUGE_VAL : 0;
    }
    for (guint b = n; b-- > 0;)
        tell_parts(pass, b);
}

/* The index of the vector with the least weighted sum in a given factor's cell at these choices. */
static guint
find_way(const CtPass *pass, const CtFactor *factor, const guint *choices)
{
    gsize offset = 0;
    for (guint i = 0; i < factor->n; i++)
        offset += factor->strides[i] * choices[factor->variables[i]];
    guint begin, end, best = 0;
    ct_solver_cell(pass->solver, factor->cells[offset], &begin, &end);
    gdouble least = HUGE_VAL;
    for (guint v = begin; v < end; v++) {
        const gdouble sum = weigh(pass, ct_solver_vector(pass->solver, v));
        if (sum < least) {
            least = sum;
            best = v - begin;
        }
    }
    return best;
}

void
ct_pass_choices(const CtPass *pass, guint *choices, guint *ways)
{
    const CtSolver *solver = pass->solver;
    for (guint v = 0; v < solver->variables->len; v++)
        choices[v] = (guint)MAX(0, ct_solver_variable(solver, v)->fixed);
    for (guint b = solver->buckets->len - 1; b-- > 0;) {
        const CtBucket *bucket = ct_solver_bucket(solver, b);
        g_autofree gsize *offsets = g_new0(gsize, bucket->n_parts + 1);
        g_autofree gdouble *sums = g_new(gdouble, bucket->n_choices);
        choices[bucket->variable] = 0;
        for (guint p = 0; p < bucket->n_parts; p++) {
            const CtFactor *factor = bucket->parts[p].factor;
            for (guint i = 0; i < factor->n; i++)
                offsets[p] += factor->strides[i] * choices[factor->variables[i]];
        }
        sum_parts(pass, bucket, offsets, sums);
        guint best = 0;
        for (guint k = 1; k < bucket->n_choices; k++) {
            if (sums[k] < sums[best])
                best = k;
        }
        choices[bucket->variable] = best;
    }
    for (guint f = 0; f < solver->given->len; f++)
        ways[f] = find_way(pass, g_ptr_array_index(solver->given, f), choices);
}
