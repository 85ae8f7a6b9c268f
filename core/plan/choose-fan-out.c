/* SPDX-License-Identifier: BSD-3-Clause */
/* Fan-outs with several readers, which share the steps inserted for them: the fan-out is a variable
 * of its own, whose choices are the sets of placements that are made. The writer pays for the set,
 * and a reader can only choose a placement in the set. */
#include "choose-private.h"

#include <math.h>
#include <string.h>

/* The most sets of placements, the most ways to make a set, and the most different steps that are
 * recognised as shared. */
enum { MAX_SETS = 512, MAX_WAYS = 32, MAX_MADE = 256 };

/* Lists the sets of placements, as bits: the needed placements with any of the others, smaller
 * sets first. Where these are too many, the set of all placements ends the list, and *complete
 * is FALSE. */
static GArray *
list_sets(guint n, guint64 needed, guint largest, gboolean *complete)
{
    guint others[CT_MAX_PLACEMENTS];
    guint n_others = 0;
    for (guint i = 0; i < n; i++) {
        if (!(needed >> i & 1))
            others[n_others++] = i;
    }
    GArray *sets = g_array_new(FALSE, FALSE, sizeof(guint64));
    *complete = TRUE;
    for (guint size = needed ? 0 : 1; size <= MIN(n_others, largest); size++) {
        gdouble count = 1;
        for (guint k = 0; k < size; k++)
            count = count * (n_others - k) / (k + 1);
        if (sets->len + count > MAX_SETS) {
            const guint64 all = n < 64 ? (G_GUINT64_CONSTANT(1) << n) - 1 : G_MAXUINT64;
            g_array_append_val(sets, all);
            *complete = FALSE;
            break;
        }
        guint chosen[CT_MAX_PLACEMENTS];
        for (guint k = 0; k < size; k++)
            chosen[k] = k;
        for (gboolean more = TRUE; more;) {
            guint64 set = needed;
            for (guint k = 0; k < size; k++)
                set |= G_GUINT64_CONSTANT(1) << others[chosen[k]];
            g_array_append_val(sets, set);
            guint k = size;
            while (k > 0 && chosen[k - 1] == n_others - size + k - 1)
                k--;
            more = k > 0;
            if (more) {
                chosen[k - 1]++;
                for (; k < size; k++)
                    chosen[k] = chosen[k - 1] + 1;
            }
        }
    }
    return sets;
}

/* The number of a step, found by the placement that it makes: conversions with the same step share
 * it. */
static guint
step_index(GArray *made, const CtPlacement *placement, const CtStream *stream)
{
    for (guint i = 0; i < made->len; i++) {
        if (ct_placement_same_memory(&g_array_index(made, CtPlacement, i), placement, stream))
            return i;
    }
    g_array_append_val(made, *placement);
    return made->len - 1;
}

/* One way to make a set of placements. */
typedef struct {
    guint8 picks[CT_MAX_PLACEMENTS]; /* [placement] index of the conversion */
    guint64 made[MAX_MADE / 64];
    gdouble longest;
} Way;

typedef struct {
    GArray *ways;    /* of Way */
    GArray *vectors; /* of gdouble, n_sums + 1 of each */
} Ways;

static void
ways_clear(Ways *ways)
{
    g_clear_pointer(&ways->ways, g_array_unref);
    g_clear_pointer(&ways->vectors, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Ways, ways_clear)

static void
ways_init(Ways *ways)
{
    ways->ways = g_array_new(FALSE, FALSE, sizeof(Way));
    ways->vectors = g_array_new(FALSE, FALSE, sizeof(gdouble));
}

/* Keeps a way, unless another one that makes the same placements or more is within it; returns
 * FALSE where there was no room for it. */
static gboolean
keep_way(Ways *ways, const Way *way, const gdouble *vector, guint n)
{
    for (guint i = 0; i < ways->ways->len; i++) {
        const Way *other = &g_array_index(ways->ways, Way, i);
        gboolean has_made = TRUE;
        for (guint k = 0; k < G_N_ELEMENTS(way->made); k++)
            has_made &= (way->made[k] & ~other->made[k]) == 0;
        if (has_made && ct_solver_within(&g_array_index(ways->vectors, gdouble, i * n), vector, n))
            return TRUE;
    }
    if (ways->ways->len == MAX_WAYS)
        return FALSE;
    g_array_append_vals(ways->ways, way, 1);
    g_array_append_vals(ways->vectors, vector, n);
    return TRUE;
}

/* Finds the ways to make all placements of `set` from one; returns whether all of them were
 * kept. */
static gboolean
find_ways(const CtProblem *problem, const CtJunction *junction, guint from, guint64 set, Ways *ways)
{
    const guint n = problem->n_sums + 1, n_placements = junction->to->len;
    g_autoptr(GArray) made = g_array_new(FALSE, FALSE, sizeof(CtPlacement));
    g_autofree gdouble *vector = g_new0(gdouble, n);
    gboolean is_whole = TRUE;
    const Way start = {{0}, {0}, 0};
    keep_way(ways, &start, vector, n);
    for (guint r = 0; r < n_placements && ways->ways->len > 0; r++) {
        if (!(set >> r & 1))
            continue;
        const GArray *conversions = junction->conversions[from * n_placements + r];
        g_auto(Ways) next;
        ways_init(&next);
        for (guint i = 0; i < ways->ways->len; i++) {
            for (guint b = 0; b < conversions->len; b++) {
                const CtConversion *conversion = &g_array_index(conversions, CtConversion, b);
                Way way = g_array_index(ways->ways, Way, i);
                memcpy(vector, &g_array_index(ways->vectors, gdouble, i * n), n * sizeof(*vector));
                way.picks[r] = (guint8)b;
                for (guint s = 0; s < conversion->n_steps; s++) {
                    const guint step = step_index(made, &conversion->steps[s].to, junction->stream);
                    const guint64 bit = G_GUINT64_CONSTANT(1) << step % 64;
                    if (step < MAX_MADE && way.made[step / 64] & bit)
                        continue;
                    ct_problem_add(problem, vector, &conversion->steps[s].cost);
                    if (step < MAX_MADE)
                        way.made[step / 64] |= bit;
                }
                is_whole &= keep_way(&next, &way, vector, n);
            }
        }
        const Ways done = *ways;
        *ways = next;
        next = done;
    }
    return is_whole;
}

void
ct_problem_conversions_of_set(const CtProblem *problem, const CtJunction *junction, guint from,
                              guint64 set, guint way,
                              const CtConversion *conversions[CT_MAX_PLACEMENTS])
{
    g_auto(Ways) ways;
    ways_init(&ways);
    find_ways(problem, junction, from, set, &ways);
    const Way *chosen = &g_array_index(ways.ways, Way, way);
    for (guint r = 0; r < junction->to->len; r++)
        conversions[r] = set >> r & 1
                             ? &g_array_index(junction->conversions[from * junction->to->len + r],
                                              CtConversion, chosen->picks[r])
                             : NULL;
}

/* The placements that some reader needs with each of its candidates. */
static guint64
needed_placements(const CtProblem *problem, const CtJunction *junction)
{
    guint64 needed = 0;
    for (guint i = 0; i < junction->fan_out->readers->len; i++) {
        const guint node = g_array_index(junction->fan_out->readers, CtPlanReader, i).node;
        const gint *indices = g_ptr_array_index(junction->reads, i);
        gboolean only = indices[0] >= 0;
        for (guint r = 1; r < ct_problem_n_choices(problem, node); r++)
            only &= indices[r] == indices[0];
        needed |= only ? G_GUINT64_CONSTANT(1) << indices[0] : 0;
    }
    return needed;
}

void
ct_problem_add_fan_out(CtProblem *problem, CtJunction *junction)
{
    const CtFanOut *fan_out = junction->fan_out;
    junction->sets = list_sets(junction->to->len, needed_placements(problem, junction),
                               fan_out->readers->len, &junction->is_whole);
    const guint n_sets = junction->sets->len;
    g_autofree guint *own = g_new(guint, n_sets);
    for (guint s = 0; s < n_sets; s++)
        own[s] = CT_CELL_FREE;
    junction->variable = ct_solver_add_variable(problem->solver, n_sets, own);

    g_autofree guint *of_placement = g_new(guint, (gsize)junction->from->len * n_sets + 1);
    for (guint w = 0; w < junction->from->len; w++) {
        for (guint s = 0; s < n_sets; s++) {
            g_auto(Ways) ways;
            ways_init(&ways);
            junction->is_whole &=
                find_ways(problem, junction, w, g_array_index(junction->sets, guint64, s), &ways);
            of_placement[w * n_sets + s] = ct_solver_add_cell(problem->solver);
            for (guint i = 0; i < ways.ways->len; i++)
                ct_solver_add_vector(problem->solver, &g_array_index(ways.vectors, gdouble,
                                                                     i * (problem->n_sums + 1)));
        }
    }
    const guint n_writes = ct_problem_n_choices(problem, fan_out->node);
    guint *cells = g_new(guint, (gsize)n_writes * n_sets);
    for (guint w = 0; w < n_writes; w++) {
        const gint from = junction->writes[w];
        for (guint s = 0; s < n_sets; s++)
            cells[w * n_sets + s] =
                from >= 0 ? of_placement[(guint)from * n_sets + s] : CT_CELL_FORBIDDEN;
    }
    junction->first_pair =
        ct_solver_add_pair(problem->solver, fan_out->node, junction->variable, cells);

    for (guint i = 0; i < fan_out->readers->len; i++) {
        const guint node = g_array_index(fan_out->readers, CtPlanReader, i).node;
        const gint *indices = g_ptr_array_index(junction->reads, i);
        const guint n_reads = ct_problem_n_choices(problem, node);
        cells = g_new(guint, (gsize)n_reads * n_sets);
        for (guint r = 0; r < n_reads; r++) {
            for (guint s = 0; s < n_sets; s++) {
                const guint64 set = g_array_index(junction->sets, guint64, s);
                cells[r * n_sets + s] =
                    indices[r] >= 0 && set >> indices[r] & 1 ? CT_CELL_FREE : CT_CELL_FORBIDDEN;
            }
        }
        ct_solver_add_pair(problem->solver, node, junction->variable, cells);
    }
}
