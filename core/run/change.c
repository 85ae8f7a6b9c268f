/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of parameters while a node runs: preparing them, and putting them into effect. */
#include "change.h"

#include "arrays.h"
#include "graph/plugin-call.h"
#include "model/node-params.h"
#include "scheduler-private.h"
#include "submission.h"

/* ---- taking: on the threads of the run, with the lock ---- */

gint64
ct_change_next_tick(const CtRunNode *node)
{
    const CtFootprint *rule = &node->plan->footprint;
    const guint flows = ct_run_node_first_flow(node);
    if (flows == node->n_inputs)
        return 0;
    const CtRing *ring = node->inputs[flows].ring;
    const gint64 offset = rule->kind == CT_FOOTPRINT_WINDOW ? rule->offset : 0;
    return ring->start +
           (ring->readers[node->inputs[flows].reader].position + offset) * ring->ticks;
}

gint64
ct_change_take(CtRunNode *node, gint64 tick)
{
    CtChanges *changes = &node->changes;
    while (changes->pending && changes->pending->tick <= tick) {
        CtChange *change = changes->pending;
        const CtRunState before = node->now;
        node->now = change->state;
        change->state = ct_arrays_replace(node, before);
        change->last = node->submissions ? node->submissions->n_submitted : 0;
        changes->pending = change->next;
        change->next = NULL;
        *(changes->newest ? &changes->newest->next : &changes->oldest) = change;
        changes->newest = change;
        changes->n_listed++;
    }
    return changes->pending ? changes->pending->tick : G_MAXINT64;
}

/* ---- changing: on a thread of the program, or the one that reads files again ---- */

/* A change that is being prepared. */
typedef struct {
    CtScheduler *scheduler;
    CtRunNode *node;
    CtChange *made;
    gboolean is_now;   /* takes effect as soon as possible */
    gint64 tick;       /* from which it takes effect, once that is certain */
    GPtrArray *after;  /* of CtChange: the pending ones that come later */
    CtRunState *again; /* [after] the states of these, on top of the new value */
    CtValue **values;  /* [covered node] with the changes that come earlier */
} Draft;

static gboolean refuse(const Draft *draft, int code, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static gboolean
refuse(const Draft *draft, int code, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const CtChange *made = draft->made;
    return ct_place_error(&made->value->place, code, error, "node '%s': parameter '%s': %s",
                          draft->node->plan->nodes[made->covered].name, made->name, message);
}

static void
change_free(const CtRunNode *node, CtChange *change)
{
    ct_run_state_clear(node, &change->state, NULL);
    ct_value_free(change->value);
    g_free(change->name);
    g_free(change->shown);
    g_free(change);
}

/* The graph's node that the variant covers as number `covered`. */
static const CtGraphNode *
find_graph_node(const Draft *draft, guint covered)
{
    const CtGraph *graph = draft->scheduler->plan->graph;
    const char *name = draft->node->plan->nodes[covered].name;
    guint i = 0;
    while (!g_str_equal(ct_graph_node(graph, i)->node.name, name))
        i++;
    return ct_graph_node(graph, i);
}

static void
free_values(const CtRunNode *node, CtValue **values)
{
    for (guint k = 0; values && k < node->plan->n_nodes; k++)
        ct_value_free(values[k]);
    g_free(values);
}

/* With the lock. Keeps the values of the changes that are in effect by now. */
static void
keep_values(const Draft *draft)
{
    CtChanges *changes = &draft->node->changes;
    const CtPlanNode *plan = draft->node->plan;
    if (!changes->values) {
        changes->values = g_new0(CtValue *, plan->n_nodes);
        for (guint k = 0; k < plan->n_nodes; k++)
            changes->values[k] = ct_value_copy(find_graph_node(draft, k)->config->params);
    }
    for (CtChange *change = changes->kept ? changes->kept->next : changes->oldest; change;
         change = change->next) {
        ct_value_set(changes->values[change->covered], change->name,
                     g_steal_pointer(&change->value));
        changes->kept = change;
    }
}

/* With the lock, which it releases meanwhile. Frees the states that are no longer in use. */
static void
free_replaced(const Draft *draft)
{
    CtRunNode *node = draft->node;
    CtChanges *changes = &node->changes;
    const CtSubmissions *submissions = node->submissions;
    for (;;) {
        CtChange *change = changes->freed ? changes->freed->next : changes->oldest;
        GError *cause = NULL;
        if (!change || (submissions && submissions->n_submitted - submissions->n < change->last))
            return;
        pthread_mutex_unlock(&draft->scheduler->lock);
        const gboolean good = ct_run_state_clear(node, &change->state, &cause);
        pthread_mutex_lock(&draft->scheduler->lock);
        changes->freed = change;
        if (!good)
            ct_scheduler_fail_node(draft->scheduler, node, cause);
    }
}

/* With the lock. Drops the oldest changes of a long list, up to those whose values are kept and
 * whose states are freed. */
static void
drop_oldest(CtRunNode *node)
{
    CtChanges *changes = &node->changes;
    while (changes->n_listed > CT_CHANGES_LISTED && changes->oldest != changes->kept &&
           changes->oldest != changes->freed) {
        CtChange *change = changes->oldest;
        changes->oldest = change->next;
        changes->n_listed--;
        changes->n_dropped++;
        change_free(node, change);
    }
}

/* With the lock. The ticks at which output samples of the covered node begin: *origin and every
 * *step from there on. A change begins at every n-th of them, where memory holds blocks of samples
 * or a stage that is attached behind adds n samples up; returns n. */
static gint64
find_grid(const CtRunNode *node, guint covered, gint64 *origin, gint64 *step)
{
    const CtFootprint *rule = &node->plan->footprint;
    const CtRing *ring = node->inputs[ct_run_node_first_flow(node)].ring;
    gint64 n = MAX(node->plan->granule, 1);
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring)
            n = MAX(n, node->outputs[o].ring->granule);
    for (guint k = covered + 1; k < node->plan->n_nodes; k++)
        n *= node->plan->nodes[k].footprint.hop;
    gint64 hop = 1;
    for (guint k = 0; k <= covered; k++)
        hop *= node->plan->nodes[k].footprint.hop;
    *origin = ring->start + rule->offset * ring->ticks;
    *step = hop * ring->ticks;
    return n;
}

gint64
ct_change_first_tick(const CtRunNode *node, guint covered)
{
    gint64 origin, step;
    const gint64 block = find_grid(node, covered, &origin, &step) * step;
    const gint64 next =
        node->status == CT_NODE_IDLE ? ct_change_next_tick(node) : node->changes.until;
    return origin + (next - origin + block - 1) / block * block;
}

/* With the lock. Whether the change can take effect at its tick. */
static gboolean
check_tick(const Draft *draft, GError **error)
{
    const CtRunNode *node = draft->node;
    const CtChange *newest = node->changes.newest;
    const gint64 tick = draft->made->tick;
    if (draft->scheduler->stop || node->status >= CT_NODE_RETIRING)
        return refuse(draft, CT_ERROR_ORDER, error, "comes too late: the node has ended");
    if (draft->is_now)
        return TRUE;
    gint64 origin, step;
    const guint covered = draft->made->covered;
    const gint64 n = find_grid(node, covered, &origin, &step),
                 first = ct_change_first_tick(node, covered);
    if (tick > origin && (tick - origin + step - 1) / step % n != 0)
        return refuse(draft, CT_ERROR_PARAMETER, error,
                      "wants a tick at which a block of %" G_GINT64_FORMAT
                      " output samples begins, such as %" G_GINT64_FORMAT
                      ", but is given %" G_GINT64_FORMAT,
                      n, origin + (tick - origin) / (n * step) * n * step, tick);
    if (first > origin && tick <= first - step)
        return refuse(draft, CT_ERROR_ORDER, error,
                      "comes too late for tick %" G_GINT64_FORMAT
                      ": the output is made up to tick %" G_GINT64_FORMAT,
                      tick, first);
    if (newest && tick < newest->tick)
        return refuse(draft, CT_ERROR_ORDER, error,
                      "comes too late for tick %" G_GINT64_FORMAT
                      ": a change at tick %" G_GINT64_FORMAT " is in effect",
                      tick, newest->tick);
    return TRUE;
}

/* With the lock. Finds the values with which the change begins, and the changes that come later.
 * These have to be prepared again. */
static gboolean
begin(Draft *draft, GError **error)
{
    CtRunNode *node = draft->node;
    keep_values(draft);
    free_replaced(draft);
    drop_oldest(node);
    if (!check_tick(draft, error))
        return FALSE;
    if (draft->is_now)
        draft->made->tick = ct_change_first_tick(node, draft->made->covered);
    draft->values = g_new0(CtValue *, node->plan->n_nodes);
    for (guint k = 0; k < node->plan->n_nodes; k++)
        draft->values[k] = ct_value_copy(node->changes.values[k]);
    draft->after = g_ptr_array_new();
    for (CtChange *change = node->changes.pending; change; change = change->next) {
        if (change->tick > draft->made->tick)
            g_ptr_array_add(draft->after, change);
        else
            ct_value_set(draft->values[change->covered], change->name,
                         ct_value_copy(change->value));
    }
    draft->again = g_new0(CtRunState, draft->after->len + 1);
    return TRUE;
}

/* Prepares a state with the values of the draft and that of `change`. */
static gboolean
build(const Draft *draft, const CtChange *change, CtRunState *state, GError **error)
{
    const CtPlanNode *plan = draft->node->plan;
    CtNode *nodes = g_memdup2(plan->nodes, plan->n_nodes * sizeof *nodes);
    CtRunNode again = {.plan = plan, .now = {.nodes = nodes}};
    GError *cause = NULL;
    g_autofree char *reason = NULL;
    gboolean good = TRUE;
    state->nodes = nodes;
    state->owns_params = TRUE;
    nodes[0].blocks = draft->node->arrays.zeros;
    ct_value_set(draft->values[change->covered], change->name, ct_value_copy(change->value));
    for (guint k = 0; k < plan->n_nodes; k++) {
        const CtGraphNode *of = find_graph_node(draft, k);
        nodes[k].params = good ? ct_params_new(nodes[k].name, nodes[k].stage, &of->config->place,
                                               draft->values[k], error)
                               : NULL;
        good = nodes[k].params != NULL;
    }
    if (!good)
        return FALSE;
    for (guint k = 0; k < plan->n_nodes && good; k++)
        good = ct_node_infer_again(&find_graph_node(draft, k)->node, nodes[k].params, &cause);
    if (good && !ct_call_fits(plan->variant, nodes, &reason)) {
        g_set_error(&cause, CT_ERROR, CT_ERROR_PARAMETER, "variant '%s': %s", plan->variant->name,
                    reason);
        good = FALSE;
    }
    good = good && ct_run_node_prepare_again(draft->node, nodes, state, &cause);
    return good || ct_run_node_blame(&again, error, cause);
}

static gboolean
build_all(const Draft *draft, GError **error)
{
    gboolean good = build(draft, draft->made, &draft->made->state, error);
    for (guint i = 0; i < draft->after->len && good; i++)
        good = build(draft, draft->after->pdata[i], &draft->again[i], error);
    return good;
}

/* With the lock. Puts the change among the pending ones. *retry: it is now later than one of those
 * that were to come after it. */
static gboolean
insert(Draft *draft, gboolean *retry, GError **error)
{
    CtChanges *changes = &draft->node->changes;
    CtChange *made = draft->made;
    if (!check_tick(draft, error))
        return FALSE;
    if (draft->is_now)
        made->tick = MAX(made->tick, ct_change_first_tick(draft->node, made->covered));
    *retry =
        draft->after->len > 0 && ((const CtChange *)draft->after->pdata[0])->tick <= made->tick;
    if (*retry)
        return TRUE;
    CtChange **place = &changes->pending;
    while (*place && (*place)->tick <= made->tick)
        place = &(*place)->next;
    made->next = *place;
    *place = made;
    draft->tick = made->tick;
    draft->made = NULL;
    for (guint i = 0; i < draft->after->len; i++) {
        CtChange *later = draft->after->pdata[i];
        const CtRunState before = later->state;
        later->state = draft->again[i];
        draft->again[i] = before;
    }
    return TRUE;
}

static void
end(Draft *draft)
{
    for (guint i = 0; draft->after && i < draft->after->len; i++)
        ct_run_state_clear(draft->node, &draft->again[i], NULL);
    if (draft->made)
        ct_run_state_clear(draft->node, &draft->made->state, NULL);
    g_clear_pointer(&draft->again, g_free);
    g_clear_pointer(&draft->after, g_ptr_array_unref);
    free_values(draft->node, draft->values);
    draft->values = NULL;
}

static gboolean
try(Draft *draft, gboolean *retry, GError **error)
{
    pthread_mutex_lock(&draft->scheduler->lock);
    gboolean good = begin(draft, error);
    pthread_mutex_unlock(&draft->scheduler->lock);
    if (good && build_all(draft, error)) {
        pthread_mutex_lock(&draft->scheduler->lock);
        good = insert(draft, retry, error);
        pthread_mutex_unlock(&draft->scheduler->lock);
    } else {
        good = FALSE;
    }
    end(draft);
    return good;
}

gboolean
ct_change_is_possible(const CtRunNode *node)
{
    return node->plan->footprint.kind == CT_FOOTPRINT_WINDOW && !ct_run_node_is_source(node);
}

/* Whether the variant can change this parameter. */
static gboolean
check_live(const Draft *draft, GError **error)
{
    const CtRunNode *node = draft->node;
    const CtStage *stage = node->plan->nodes[draft->made->covered].stage;
    g_autoptr(GString) live = g_string_new(NULL);
    gboolean is_live = FALSE, is_known = FALSE;
    for (const CtParam *param = ct_stage_params(stage); param->name; param++) {
        const gboolean is_it = g_str_equal(param->name, draft->made->name);
        is_known |= is_it;
        is_live |= is_it && param->flags & CT_PARAM_LIVE;
        if (param->flags & CT_PARAM_LIVE)
            g_string_append_printf(live, "%s%s", live->len ? ", " : "", param->name);
    }
    /* ct_params_new() refuses an unknown parameter. */
    if (is_known && !is_live)
        return refuse(draft, CT_ERROR_PARAMETER, error, "cannot change during a run%s%s",
                      live->len ? ", unlike " : "", live->str);
    if (!ct_change_is_possible(node))
        return refuse(draft, CT_ERROR_PARAMETER, error,
                      "cannot change during a run: the variant '%s' keeps something from firing to "
                      "firing",
                      node->plan->variant->name);
    return TRUE;
}

/* The node of the plan that covers the graph's node `name`. */
static CtRunNode *
find_node(CtScheduler *scheduler, const char *name, guint *covered)
{
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        const CtPlanNode *plan = scheduler->nodes[i].plan;
        for (*covered = 0; *covered < plan->n_nodes && !plan->inserted; ++*covered)
            if (g_str_equal(plan->nodes[*covered].name, name))
                return &scheduler->nodes[i];
    }
    g_return_val_if_reached(NULL);
}

gboolean
ct_scheduler_change(CtScheduler *scheduler, const char *node, const char *param,
                    const CtValue *value, const char *shown, gint64 *tick, GError **error)
{
    Draft draft = {.scheduler = scheduler, .is_now = *tick == CT_CHANGE_NOW};
    draft.made = g_new0(CtChange, 1);
    CtChange *made = draft.made;
    draft.node = find_node(scheduler, node, &made->covered);
    made->tick = *tick;
    made->name = g_strdup(param);
    made->value = ct_value_copy(value);
    made->shown = g_strdup(shown);
    pthread_mutex_lock(&scheduler->changing);
    gboolean retry = TRUE, good = check_live(&draft, error);
    while (good && retry)
        good = try(&draft, &retry, error);
    pthread_mutex_unlock(&scheduler->changing);
    if (draft.made)
        change_free(draft.node, draft.made);
    if (good)
        *tick = draft.tick;
    return good;
}

void
ct_change_clear(CtRunNode *node)
{
    CtChanges *changes = &node->changes;
    CtChange *const lists[] = {changes->oldest, changes->pending};
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        for (CtChange *change = lists[i], *next; change; change = next) {
            next = change->next;
            change_free(node, change);
        }
    free_values(node, changes->values);
    *changes = (CtChanges){0};
}
