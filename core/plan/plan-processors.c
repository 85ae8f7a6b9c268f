/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors on which the threads of a run stay, and the NUMA nodes of its memory. */
#include "plan-processors.h"

#include "model/quantity.h"

static const CtProcessor *
processor(const GArray *processors, guint i)
{
    return &g_array_index(processors, CtProcessor, i);
}

static gboolean
have_numa(const GArray *processors, gint numa)
{
    for (guint i = 0; i < processors->len; i++)
        if (processor(processors, i)->numa == numa)
            return TRUE;
    return FALSE;
}

/* ---- the processors of the run ---- */

static gboolean
has_number(const GArray *numbers, guint number)
{
    for (guint i = 0; i < numbers->len; i++)
        if (g_array_index(numbers, guint, i) == number)
            return TRUE;
    return FALSE;
}

/* Leaves those that the user names, all of which must be there. */
static gboolean
leave_named(GArray *processors, const CtPlanOptions *options, GError **error)
{
    g_autofree char *allowed = ct_processors_to_text(processors, CT_NO_NUMA);
    for (guint i = processors->len; i-- > 0;)
        if (!has_number(options->cpus, processor(processors, i)->number))
            g_array_remove_index(processors, i);
    if (processors->len == options->cpus->len)
        return TRUE;
    g_autoptr(GArray) given = g_array_new(FALSE, TRUE, sizeof(CtProcessor));
    g_array_set_size(given, options->cpus->len);
    for (guint i = 0; i < given->len; i++)
        g_array_index(given, CtProcessor, i).number = g_array_index(options->cpus, guint, i);
    g_autofree char *numbers = ct_processors_to_text(given, CT_NO_NUMA);
    return ct_place_error(&options->cpus_place, CT_ERROR_CONFIG, error,
                          "%swants processors of %s, which this process may use, but is given %s",
                          options->cpus_place.line > 0 ? "'cpus' " : "", allowed, numbers);
}

/* ---- the NUMA nodes that the graph names ---- */

static const CtConfigNuma *
asked(const CtGraph *graph, const CtGraphNode *node)
{
    return node->config->numa.is_given ? &node->config->numa : &graph->config->numa;
}

gint
ct_plan_asked_numa(const CtGraph *graph, const CtGraphNode *node)
{
    const CtConfigNuma *numa = asked(graph, node);
    return numa->is_given ? numa->number : CT_NO_NUMA;
}

/* "0, 1" */
static char *
list_numas(const GArray *numas)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < numas->len; i++)
        g_string_append_printf(text, "%s%u", i ? ", " : "", g_array_index(numas, guint, i));
    return g_string_free(text, FALSE);
}

/* The NUMA nodes that a node may name, if `numa` is none of them; NULL: it is one. Allocated. */
static char *
find_fault(const CtPlanProcessors *self, const GArray *numas, gint numa)
{
    const char *lack = ct_topology_lack();
    if (!has_number(numas, (guint)numa)) {
        g_autofree char *list = list_numas(numas);
        return g_strdup_printf("a NUMA node of this machine (%s%s%s)", list, lack ? "; " : "",
                               lack ? lack : "");
    }
    if (!have_numa(self->processors, numa)) {
        g_autofree char *processors = ct_processors_to_text(self->processors, CT_NO_NUMA);
        return g_strdup_printf("a NUMA node of the run's processors (%s)", processors);
    }
    if (!have_numa(self->workers, numa))
        return g_strdup_printf("a worker on its NUMA node, with more than %u in all",
                               self->workers->len);
    return NULL;
}

static gboolean
check_numa(const CtPlanProcessors *self, const GArray *numas, const CtConfigNuma *numa,
           const CtGraphNode *node, GError **error)
{
    g_autofree char *wanted = numa->is_given ? find_fault(self, numas, numa->number) : NULL;
    if (!wanted)
        return TRUE;
    if (node->config->numa.is_given)
        return ct_graph_error(node, &numa->place, CT_ERROR_CONFIG, error,
                              "'numa' wants %s, but is given %d", wanted, numa->number);
    return ct_place_error(&numa->place, CT_ERROR_CONFIG, error, "'numa' wants %s, but is given %d",
                          wanted, numa->number);
}

static gboolean
check_numas(const CtPlanProcessors *self, const CtGraph *graph, GError **error)
{
    g_autoptr(GArray) numas = ct_topology_numas();
    for (guint i = 0; i < graph->nodes->len; i++) {
        const CtGraphNode *node = ct_graph_node(graph, i);
        if (!check_numa(self, numas, asked(graph, node), node, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- workers ---- */

/* Whether a node of the graph may run on workers of this NUMA node. */
static gboolean
is_served(const CtGraph *graph, gint numa)
{
    for (guint i = 0; i < graph->nodes->len; i++) {
        const gint wanted = ct_plan_asked_numa(graph, ct_graph_node(graph, i));
        if (wanted == CT_NO_NUMA || wanted == numa)
            return TRUE;
    }
    return graph->nodes->len == 0;
}

/* The number of processors of the same NUMA node before processor `i`. */
static guint
rank_of(const GArray *processors, guint i)
{
    guint rank = 0;
    for (guint k = 0; k < i; k++)
        rank += processor(processors, k)->numa == processor(processors, i)->numa;
    return rank;
}

/* Those for workers: of the NUMA nodes that have work. If nodes of the graph name several, workers
 * take a processor of each in turn. */
static GArray *
order_processors(const CtPlanProcessors *self, const CtGraph *graph)
{
    GArray *ordered = g_array_new(FALSE, FALSE, sizeof(CtProcessor));
    guint left = 0;
    for (guint i = 0; i < self->processors->len; i++)
        left += is_served(graph, processor(self->processors, i)->numa);
    for (guint rank = 0; ordered->len < left; rank++)
        for (guint i = 0; i < self->processors->len; i++) {
            const CtProcessor *next = processor(self->processors, i);
            if (is_served(graph, next->numa) &&
                (!self->is_divided || rank_of(self->processors, i) == rank))
                g_array_append_val(ordered, *next);
        }
    return ordered;
}

static gboolean
names_numa(const CtGraph *graph)
{
    for (guint i = 0; i < graph->nodes->len; i++)
        if (ct_plan_asked_numa(graph, ct_graph_node(graph, i)) != CT_NO_NUMA)
            return TRUE;
    return FALSE;
}

/* Whether they are of several NUMA nodes. */
static gboolean
differ(const GArray *processors)
{
    for (guint i = 1; i < processors->len; i++)
        if (processor(processors, i)->numa != processor(processors, 0)->numa)
            return TRUE;
    return FALSE;
}

static void
place_workers(CtPlanProcessors *self, const CtGraph *graph, guint n_workers)
{
    self->is_divided = names_numa(graph) && differ(self->processors);
    g_autoptr(GArray) ordered = order_processors(self, graph);
    const GArray *from = ordered->len > 0 ? ordered : self->processors;
    const guint n = n_workers > 0 ? n_workers : from->len;
    self->workers = g_array_sized_new(FALSE, FALSE, sizeof(CtProcessor), n);
    for (guint w = 0; w < n; w++)
        g_array_append_val(self->workers, *processor(from, w % from->len));
    self->is_divided = self->is_divided && differ(self->workers);
}

guint
ct_plan_count_workers(const CtPlan *plan, gint numa)
{
    const GArray *workers = plan->processors.workers;
    guint n = 0;
    for (guint w = 0; w < workers->len; w++)
        n += numa == CT_NO_NUMA || processor(workers, w)->numa == numa;
    return n;
}

gboolean
ct_plan_processors_find(CtPlanProcessors *found, const CtGraph *graph, const CtPlanOptions *options,
                        GError **error)
{
    g_autoptr(GArray) numas = ct_topology_numas();
    *found = (CtPlanProcessors){.processors = ct_topology_processors(), .n_numas = numas->len};
    const guint n_allowed = found->processors->len;
    const gboolean are_there = !options->cpus || leave_named(found->processors, options, error);
    found->is_limited = found->processors->len < n_allowed;
    if (found->processors->len == 0)
        g_array_append_vals(found->processors, &(CtProcessor){0, 0}, 1);
    place_workers(found, graph, options->n_workers);
    return are_there && check_numas(found, graph, error);
}

guint
ct_plan_default_workers(const CtGraph *graph, const CtPlanOptions *options)
{
    CtPlanOptions alone = *options;
    CtPlanProcessors found;
    alone.n_workers = 0;
    ct_plan_processors_find(&found, graph, &alone, NULL);
    const guint n = found.workers->len;
    ct_plan_processors_clear(&found);
    return n;
}

void
ct_plan_processors_clear(CtPlanProcessors *self)
{
    g_clear_pointer(&self->processors, g_array_unref);
    g_clear_pointer(&self->workers, g_array_unref);
}

/* ---- NUMA nodes of the plan ---- */

/* The NUMA node of all threads that serve the node; CT_NO_NUMA: they are of several, or the
 * program's. */
static gint
numa_of_threads(const CtPlan *plan, const CtPlanNode *node)
{
    const CtPlanProcessors *self = &plan->processors;
    const GArray *threads = node->variant->waits ? self->processors : self->workers;
    if (node->place != CT_HOST)
        return plan->numas[node->place];
    if (node->numa != CT_NO_NUMA || !node->variant->work)
        return node->numa;
    return differ(threads) ? CT_NO_NUMA : processor(threads, 0)->numa;
}

/* The memory of a ring is near to its readers; if a device copies from it or to it, near to the
 * device. */
static gint
numa_of_ring(const CtPlan *plan, const CtPlanLink *link)
{
    const CtPlanNode *writer = ct_plan_node(plan, link->writer);
    gint numa = CT_NO_NUMA;
    if (link->place != CT_HOST || !writer->variant->work)
        return CT_NO_NUMA;
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanNode *reader =
            ct_plan_node(plan, g_array_index(link->readers, CtPlanReader, r).node);
        const gint own = numa_of_threads(plan, reader);
        if (numa == CT_NO_NUMA || (reader->place != CT_HOST && own != CT_NO_NUMA))
            numa = own;
    }
    const gint device = writer->place == CT_HOST ? CT_NO_NUMA : plan->numas[writer->place];
    return device != CT_NO_NUMA ? device : numa;
}

static void
warn_of_device(CtPlan *plan, const CtPlanNode *node)
{
    const CtConfigStage *config = node->graph_node ? node->graph_node->config : NULL;
    if (!node->inserted && node->place != CT_HOST && config && config->numa.is_given)
        ct_warnings_add(plan->warnings, CT_WARNING_PARAMETER, node->name, &config->numa.place,
                        "'numa' has no effect: it runs on cuda:%d", node->place);
}

void
ct_plan_set_numas(CtPlan *plan, const CtMachine *machine)
{
    const gboolean several = plan->processors.n_numas > 1;
    plan->numas = g_new(gint, plan->n_devices + 1);
    for (guint d = 0; d < plan->n_devices; d++)
        plan->numas[d] =
            several && machine->numa_of_device ? machine->numa_of_device(d) : CT_NO_NUMA;
    for (guint n = 0; n < plan->nodes->len; n++) {
        CtPlanNode *node = ct_plan_node(plan, n);
        const gboolean has_choice = several && node->place == CT_HOST && node->graph_node;
        node->numa = has_choice ? ct_plan_asked_numa(plan->graph, node->graph_node) : CT_NO_NUMA;
        warn_of_device(plan, node);
    }
    for (guint l = 0; l < plan->links->len; l++) {
        CtPlanLink *link = ct_plan_link(plan, l);
        link->numa = several ? numa_of_ring(plan, link) : CT_NO_NUMA;
    }
}

/* ---- printing ---- */

static gsize
count_bytes(const CtPlan *plan, gint numa)
{
    gsize bytes = 0;
    for (guint l = 0; l < plan->links->len; l++)
        if (ct_plan_link(plan, l)->numa == numa)
            bytes += ct_plan_link(plan, l)->bytes;
    return bytes;
}

/* The processors with workers, of this NUMA node. */
static char *
list_pinned(const CtPlanProcessors *self, gint numa)
{
    g_autoptr(GArray) pinned = g_array_new(FALSE, FALSE, sizeof(CtProcessor));
    for (guint i = 0; i < self->processors->len; i++)
        for (guint w = 0; w < self->workers->len; w++)
            if (processor(self->workers, w)->number == processor(self->processors, i)->number) {
                g_array_append_val(pinned, *processor(self->processors, i));
                break;
            }
    return ct_processors_to_text(pinned, numa);
}

/* "NUMA node 1: 4 workers on processors 8-11, 96.0 MiB" */
static void
print_numa(GString *text, const CtPlan *plan, gint numa)
{
    const guint n = ct_plan_count_workers(plan, numa);
    g_autofree char *processors = list_pinned(&plan->processors, numa);
    if (numa != CT_NO_NUMA)
        g_string_append_printf(text, "NUMA node %d: ", numa);
    g_string_append_printf(text, "%u worker%s", n, n == 1 ? "" : "s");
    if (n > 0)
        g_string_append_printf(text, " on processors %s", processors);
    g_autofree char *bytes = ct_format_bytes(count_bytes(plan, numa));
    if (numa != CT_NO_NUMA)
        g_string_append_printf(text, ", %s", bytes);
    g_string_append_c(text, '\n');
}

void
ct_plan_print_processors(GString *text, const CtPlan *plan)
{
    g_autoptr(GArray) numas = ct_topology_numas();
    if (plan->processors.n_numas == 1 && plan->processors.is_limited)
        print_numa(text, plan, CT_NO_NUMA);
    for (guint i = 0; plan->processors.n_numas > 1 && i < numas->len; i++)
        print_numa(text, plan, (gint)g_array_index(numas, guint, i));
}

void
ct_plan_add_processors(CtJson *json, const CtPlan *plan)
{
    ct_json_begin_array(json, "processors");
    for (guint w = 0; w < plan->processors.workers->len; w++) {
        const CtProcessor *pinned = processor(plan->processors.workers, w);
        ct_json_begin_object(json, NULL);
        ct_json_add_integer(json, "number", pinned->number);
        ct_json_add_integer(json, "numa", pinned->numa);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}
