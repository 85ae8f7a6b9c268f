/* SPDX-License-Identifier: BSD-3-Clause */
/* The undominated vectors of all combinations that may still be the best.
 *
 * The message of a bucket holds *labels* for each of its entries: vectors of the variables
 * eliminated so far, none within another, with the choice and the labels that they come from. A
 * label has lower bounds of the largest component that it can lead to: its own last component,
 * and, for any weights that sum to one, its weighted sum plus the least of the rest. Labels whose
 * bounds cannot beat the incumbent are not made. */
#include "solve-private.h"

#include <math.h>
#include <string.h>

/* Relative differences below this are rounding. */
static const gdouble rounding = 1e-12;

/* The labels of one message. A row of `values` is a vector, followed by its sum under the weights
 * of each pass. A row of `origins` is the bucket's choice, followed by the index of the label taken
 * from each part. */
typedef struct {
    gsize *starts; /* [entry] its first row; one more for the end of the last */
    GArray *values;
    GArray *origins;
} Labels;

typedef struct {
    const CtSolver *solver;
    CtPass *const *passes;
    guint n_passes;
    guint width;    /* of a row of values */
    gdouble *given; /* [vector][width] */
    gdouble least;  /* a lower bound of all combinations */
    const CtIncumbent *incumbent;
    Labels *labels;  /* [bucket] */
    gdouble dropped; /* the least bound of the labels that were left out for lack of room */
    guint most;
    gsize *comparisons;
} Search;

/* The rows of an entry while its labels are made. */
typedef struct {
    guint n;
    GArray *values;
    GArray *origins;
} Rows;

gboolean
ct_incumbent_beaten(const CtIncumbent *incumbent, gdouble busiest, gdouble sum)
{
    if (busiest < incumbent->busiest * (1 - rounding))
        return TRUE;
    return busiest <= incumbent->busiest * (1 + rounding) && sum < incumbent->sum * (1 - rounding);
}

static gdouble *
values_at(const GArray *values, guint width, gsize row)
{
    return &g_array_index(values, gdouble, row * width);
}

/* ---- bounds ---- */

/* A lower bound of the largest component, with the least of the rest [pass] added. */
static gdouble
bound_of(const Search *search, const gdouble *values, const gdouble *rest)
{
    const guint n = search->solver->n_sums;
    gdouble bound = MAX(search->least, values[n]);
    for (guint i = 1; i < search->n_passes; i++)
        bound = MAX(bound, values[n + 1 + i] + rest[i]);
    return bound;
}

static gdouble
sum_bound_of(const Search *search, const gdouble *values, const gdouble *rest)
{
    return values[search->solver->n_sums + 1] + rest[0];
}

static gboolean
may_win(const Search *search, const gdouble *values, const gdouble *rest)
{
    return ct_incumbent_beaten(search->incumbent, bound_of(search, values, rest),
                               sum_bound_of(search, values, rest));
}

/* ---- one entry ---- */

static void
rows_clear(Rows *rows)
{
    rows->n = 0;
    g_array_set_size(rows->values, 0);
    g_array_set_size(rows->origins, 0);
}

/* Combines each row with each label or vector of a part at `offset`. */
static void
cross(const Search *search, const CtBucket *bucket, guint p, gsize offset, const Rows *rows,
      Rows *next, const gdouble *rest)
{
    const CtFactor *factor = bucket->parts[p].factor;
    const guint n = search->solver->n_sums, width = search->width;
    const gdouble *values;
    guint begin, end;
    if (factor->cells) {
        ct_solver_cell(search->solver, factor->cells[offset], &begin, &end);
        values = search->given;
    } else {
        const Labels *labels = &search->labels[factor->bucket];
        begin = (guint)labels->starts[offset];
        end = (guint)labels->starts[offset + 1];
        values = values_at(labels->values, width, 0);
    }
    rows_clear(next);
    for (guint r = 0; r < rows->n; r++) {
        const gdouble *row = values_at(rows->values, width, r);
        for (guint i = begin; i < end; i++) {
            const gdouble *other = values + (gsize)i * width;
            g_array_set_size(next->values, (next->n + 1) * width);
            gdouble *sum = values_at(next->values, width, next->n);
            for (guint c = 0; c < width; c++)
                sum[c] = row[c] + other[c];
            sum[n] = MAX(row[n], other[n]);
            if (!may_win(search, sum, rest))
                continue;
            const guint *origin =
                &g_array_index(rows->origins, guint, (gsize)r * (bucket->n_parts + 1));
            g_array_append_vals(next->origins, origin, bucket->n_parts + 1);
            g_array_index(next->origins, guint, (gsize)next->n * (bucket->n_parts + 1) + 1 + p) =
                i - begin;
            next->n++;
        }
    }
    *search->comparisons -= MIN(*search->comparisons, (gsize)rows->n * (end - begin));
}

/* Adds to `all` the rows of choice `k` of the bucket at an entry; `down` [pass] is the least of
 * everything outside. */
static void
make_rows(const Search *search, const CtBucket *bucket, const gsize *offsets, guint k,
          const gdouble *down, Rows buffers[2], Rows *all)
{
    const guint n_passes = search->n_passes, n_parts = bucket->n_parts;
    /* [part][pass] the least of the parts from this one on and of everything outside. */
    g_autofree gdouble *rest = g_new(gdouble, (gsize)(n_parts + 1) * n_passes);
    memcpy(&rest[n_parts * n_passes], down, n_passes * sizeof(*down));
    for (guint p = n_parts; p-- > 0;) {
        const gsize at = offsets[p] + k * bucket->parts[p].own;
        for (guint i = 0; i < n_passes; i++)
            rest[p * n_passes + i] = rest[(p + 1) * n_passes + i] +
                                     ct_pass_part(search->passes[i], &bucket->parts[p], at);
    }
    *search->comparisons -= MIN(*search->comparisons, n_parts);
    Rows *rows = &buffers[0], *next = &buffers[1];
    rows_clear(rows);
    g_array_set_size(rows->values, search->width);
    memset(rows->values->data, 0, search->width * sizeof(gdouble));
    g_array_set_size(rows->origins, n_parts + 1);
    g_array_index(rows->origins, guint, 0) = k;
    rows->n = may_win(search, values_at(rows->values, search->width, 0), rest);
    for (guint p = 0; p < n_parts && rows->n > 0; p++) {
        cross(search, bucket, p, offsets[p] + k * bucket->parts[p].own, rows, next,
              &rest[(p + 1) * n_passes]);
        Rows *done = rows;
        rows = next;
        next = done;
    }
    if (rows->n == 0)
        return;
    g_array_append_vals(all->values, rows->values->data, rows->n * search->width);
    g_array_append_vals(all->origins, rows->origins->data, rows->n * (n_parts + 1));
    all->n += rows->n;
}

/* ---- labels that are kept ---- */

typedef struct {
    guint row;
    gdouble bound, sum;
} Ranked;

static int
compare_sums(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum < y->sum ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int
compare_bounds(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return compare_sums(a, b);
}

/* Keeps the rows of `all` that no other is within, and of these the most promising. */
static void
keep_rows(Search *search, const CtBucket *bucket, const gdouble *down, const Rows *all,
          Labels *labels)
{
    const guint width = search->width, n = search->solver->n_sums + 1;
    g_autofree Ranked *ranked = g_new(Ranked, all->n + 1);
    for (guint r = 0; r < all->n; r++) {
        const gdouble *values = values_at(all->values, width, r);
        ranked[r] = (Ranked){r, bound_of(search, values, down), sum_bound_of(search, values, down)};
    }
    qsort(ranked, all->n, sizeof(*ranked), compare_sums);
    guint n_kept = 0;
    for (guint r = 0; r < all->n; r++) {
        const gdouble *values = values_at(all->values, width, ranked[r].row);
        gboolean is_needed = TRUE;
        for (guint k = 0; k < n_kept && is_needed; k++)
            is_needed = !ct_solver_within(values_at(all->values, width, ranked[k].row), values, n);
        *search->comparisons -= MIN(*search->comparisons, n_kept);
        if (is_needed)
            ranked[n_kept++] = ranked[r];
    }
    if (n_kept > search->most) {
        qsort(ranked, n_kept, sizeof(*ranked), compare_bounds);
        search->dropped = MIN(search->dropped, ranked[search->most].bound);
        n_kept = search->most;
    }
    for (guint r = 0; r < n_kept; r++) {
        g_array_append_vals(labels->values, values_at(all->values, width, ranked[r].row), width);
        g_array_append_vals(
            labels->origins,
            &g_array_index(all->origins, guint, (gsize)ranked[r].row * (bucket->n_parts + 1)),
            bucket->n_parts + 1);
    }
}

static void
label_bucket(Search *search, guint b, Rows buffers[3])
{
    const CtBucket *bucket = ct_solver_bucket(search->solver, b);
    Labels *labels = &search->labels[b];
    g_auto(CtOdometer) odometer;
    ct_odometer_init(&odometer, search->solver, bucket, FALSE);
    g_autofree gdouble *down = g_new(gdouble, search->n_passes);
    labels->starts = g_new0(gsize, bucket->n_entries + 1);
    for (gsize e = 0; e < bucket->n_entries; e++) {
        rows_clear(&buffers[2]);
        for (guint i = 0; i < search->n_passes; i++)
            down[i] = search->passes[i]->down[b][e];
        for (guint k = 0; k < bucket->n_choices && down[0] < HUGE_VAL; k++)
            make_rows(search, bucket, odometer.offsets, k, down, buffers, &buffers[2]);
        keep_rows(search, bucket, down, &buffers[2], labels);
        labels->starts[e + 1] = labels->values->len / search->width;
        ct_odometer_step(&odometer);
    }
}

/* ---- the best combination ---- */

/* Follows label `best` of the last bucket back to the choices of all variables. */
static void
trace(const Search *search, guint best, CtIncumbent *incumbent)
{
    const CtSolver *solver = search->solver;
    const guint n_buckets = solver->buckets->len;
    g_autofree guint *chosen = g_new0(guint, n_buckets + 1); /* [bucket] label at its entry */
    chosen[n_buckets - 1] = best;
    for (guint v = 0; v < solver->variables->len; v++)
        incumbent->choices[v] = (guint)MAX(0, ct_solver_variable(solver, v)->fixed);
    for (guint b = n_buckets; b-- > 0;) {
        const CtBucket *bucket = ct_solver_bucket(solver, b);
        gsize entry = 0;
        for (guint i = 0; i < bucket->n_others; i++)
            entry += bucket->message->strides[i] * incumbent->choices[bucket->others[i]];
        const gsize label = search->labels[b].starts[entry] + chosen[b];
        const guint *origin =
            &g_array_index(search->labels[b].origins, guint, label * (bucket->n_parts + 1));
        if (bucket->variable >= 0)
            incumbent->choices[bucket->variable] = origin[0];
        for (guint p = 0; p < bucket->n_parts; p++) {
            const CtFactor *factor = bucket->parts[p].factor;
            if (factor->cells)
                incumbent->ways[factor->index] = origin[1 + p];
            else
                chosen[factor->bucket] = origin[1 + p];
        }
    }
}

static void
take_best(const Search *search, CtIncumbent *incumbent)
{
    const guint n = search->solver->n_sums, last = search->solver->buckets->len - 1;
    const Labels *labels = &search->labels[last];
    gint best = -1;
    for (guint l = 0; l < labels->starts[1]; l++) {
        const gdouble *values = values_at(labels->values, search->width, l);
        gdouble busiest = 0;
        for (guint c = 0; c <= n; c++)
            busiest = MAX(busiest, values[c]);
        if (!ct_incumbent_beaten(incumbent, busiest, values[n + 1]))
            continue;
        incumbent->busiest = busiest;
        incumbent->sum = values[n + 1];
        best = (gint)l;
    }
    if (best >= 0)
        trace(search, (guint)best, incumbent);
}

static void
search_clear(Search *search)
{
    for (guint b = 0; b < search->solver->buckets->len; b++) {
        g_free(search->labels[b].starts);
        g_array_unref(search->labels[b].values);
        g_array_unref(search->labels[b].origins);
    }
    g_free(search->labels);
    g_free(search->given);
}

gdouble
ct_solver_label(const CtSolver *solver, CtPass *const *passes, guint n_passes, gdouble least,
                guint most, CtIncumbent *incumbent, gsize *comparisons, gboolean *is_all)
{
    const guint n_buckets = solver->buckets->len, n_given = ct_solver_n_vectors(solver);
    Search search = {
        .solver = solver,
        .passes = passes,
        .n_passes = n_passes,
        .width = solver->n_sums + 1 + n_passes,
        .least = least,
        .incumbent = incumbent,
        .labels = g_new0(Labels, n_buckets),
        .dropped = HUGE_VAL,
        .most = most,
        .comparisons = comparisons,
    };
    search.given = g_new(gdouble, (gsize)n_given * search.width + 1);
    for (guint v = 0; v < n_given; v++) {
        gdouble *values = &search.given[(gsize)v * search.width];
        memcpy(values, ct_solver_vector(solver, v), (solver->n_sums + 1) * sizeof(*values));
        for (guint i = 0; i < n_passes; i++) {
            gdouble *sum = &values[solver->n_sums + 1 + i];
            *sum = 0;
            for (guint c = 0; c < solver->n_sums; c++)
                *sum += passes[i]->weights[c] * values[c];
        }
    }
    for (guint b = 0; b < n_buckets; b++) {
        search.labels[b].values = g_array_new(FALSE, FALSE, sizeof(gdouble));
        search.labels[b].origins = g_array_new(FALSE, FALSE, sizeof(guint));
    }
    Rows buffers[3];
    for (guint i = 0; i < G_N_ELEMENTS(buffers); i++)
        buffers[i] = (Rows){0, g_array_new(FALSE, FALSE, sizeof(gdouble)),
                            g_array_new(FALSE, FALSE, sizeof(guint))};
    for (guint b = 0; b<n_buckets && * comparisons> 0; b++)
        label_bucket(&search, b, buffers);
    gdouble proven = 0;
    *is_all = *comparisons > 0 && search.dropped == HUGE_VAL;
    if (*comparisons > 0) {
        take_best(&search, incumbent);
        proven = MIN(search.dropped, incumbent->busiest);
    }
    for (guint i = 0; i < G_N_ELEMENTS(buffers); i++) {
        g_array_unref(buffers[i].values);
        g_array_unref(buffers[i].origins);
    }
    search_clear(&search);
    return proven;
}
