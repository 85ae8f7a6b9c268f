/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy of a run, and the useful operations for it, as text and as JSON. */
#include "stats-private.h"

/* The useful operations of the nodes at a place. */
static gdouble
count_operations(const CtPlan *plan, CtScheduler *scheduler, gint place)
{
    gdouble sum = 0;
    for (guint i = 0; i < plan->nodes->len; i++) {
        CtNodeStats counts;
        ct_scheduler_stats(scheduler, i, &counts);
        if (counts.node->place == place)
            sum += counts.node->operations * ct_stats_samples(&counts);
    }
    return sum;
}

static gboolean
is_used(const CtPlan *plan, gint place)
{
    for (guint i = 0; i < plan->nodes->len; i++)
        if (ct_plan_node(plan, i)->place == place)
            return TRUE;
    return FALSE;
}

/* "energy of the processor: 12.3 J in 1 package, 3.45 Gop/J" */
static void
print_place(GString *text, const CtPlan *plan, CtScheduler *scheduler, gint place)
{
    CtEnergy energy;
    ct_scheduler_energy(scheduler, place, &energy);
    if (place == CT_HOST)
        g_string_append(text, "energy of the processor: ");
    else
        g_string_append_printf(text, "energy of cuda:%d: ", place);
    if (energy.missing) {
        g_string_append_printf(text, "not known: %s\n", energy.missing);
        return;
    }
    g_string_append_printf(text, "%.4g J", energy.joules);
    if (place == CT_HOST)
        g_string_append_printf(text, " in %u package%s", energy.n_packages,
                               energy.n_packages == 1 ? "" : "s");
    if (energy.joules > 0)
        g_string_append_printf(text, ", %.4g Gop/J",
                               count_operations(plan, scheduler, place) * 1e-9 / energy.joules);
    g_string_append_c(text, '\n');
}

void
ct_stats_print_energy(GString *text, const CtPlan *plan, CtScheduler *scheduler)
{
    print_place(text, plan, scheduler, CT_HOST);
    for (guint i = 0; i < plan->n_devices; i++)
        if (is_used(plan, (gint)i))
            print_place(text, plan, scheduler, (gint)i);
}

/* Joules and operations of a place, or with `missing` why the energy is not known. */
static void
add_place(CtJson *json, const char *name, const CtPlan *plan, CtScheduler *scheduler, gint place)
{
    CtEnergy energy;
    ct_scheduler_energy(scheduler, place, &energy);
    const gdouble operations = count_operations(plan, scheduler, place);
    ct_json_begin_object(json, name);
    if (place != CT_HOST)
        ct_json_add_integer(json, "device", place);
    ct_json_add_text(json, "missing", energy.missing);
    ct_json_add_real(json, "operations", operations);
    if (!energy.missing) {
        if (place == CT_HOST)
            ct_json_add_integer(json, "packages", energy.n_packages);
        ct_json_add_real(json, "joules", energy.joules);
        if (energy.joules > 0)
            ct_json_add_real(json, "operations_per_joule", operations / energy.joules);
    }
    ct_json_end_object(json);
}

void
ct_stats_add_energy(CtJson *json, const CtPlan *plan, CtScheduler *scheduler)
{
    ct_json_begin_object(json, "energy");
    add_place(json, "processor", plan, scheduler, CT_HOST);
    ct_json_begin_array(json, "devices");
    for (guint i = 0; i < plan->n_devices; i++)
        if (is_used(plan, (gint)i))
            add_place(json, NULL, plan, scheduler, (gint)i);
    ct_json_end_array(json);
    ct_json_end_object(json);
}
