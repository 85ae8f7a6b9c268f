/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of firings and rings: plan-device-firings.c, plan-skew.c, plan-rings.c, plan-memory.c. */
#pragma once

#include "plan.h"

/* Whether input `port` flows along time. */
gboolean ct_plan_flows(const CtPlan *plan, const CtPlanNode *node, guint port);
/* Whether none does. */
gboolean ct_plan_is_source(const CtPlan *plan, const CtPlanNode *node);
/* Every firing goes through these as a whole, however few its samples: the sums that it carries on,
 * and static inputs. */
gsize ct_plan_bytes_of_sums(const CtPlan *plan, const CtPlanNode *node);
gsize ct_plan_bytes_of_statics(const CtPlan *plan, const CtPlanNode *node);
/* [node] ticks of stream that a firing on a device covers, 0 of nodes on the host; allocated. Wants
 * granules. */
gint64 *ct_plan_device_firings(const CtPlan *plan, const CtMachine *machine);
/* 0: it is too large. */
gint64 ct_least_multiple(gint64 a, gint64 b);
/* The footprint of one input. A CT_FOOTPRINT_OWN counts in samples of that input, which
 * may last longer or shorter than those of the output. */
CtFootprint ct_plan_footprint(const CtPlan *plan, const CtPlanNode *node, guint port);
/* Sets the skew of all links, and around which nodes it is. Wants granules. */
void ct_plan_find_skew(CtPlan *plan);
/* Why the ring is as large as it is, allocated: "2 × 2048 of a firing, 400000 of skew around
 * late > both < sky, 15 of history". */
char *ct_plan_explain_ring(const CtPlanLink *link);
/* Sets samples, granules, histories, capacities and bytes of all links, and the bindings' samples.
 * Wants queues. */
void ct_plan_size_rings(CtPlan *plan, const CtMachine *machine, gsize cache_bytes);
/* Finds the transient links, and a place in their device's arena for all there. Wants sizes. */
void ct_plan_place_links(CtPlan *plan);
/* The source whose `block` firings on a device follow, of several the longest; NULL: none says. */
const CtPlanNode *ct_plan_asked_block(const CtPlan *plan);
/* Whether all rings fit, the host's and those of each device; *whose, unless NULL, is where they do
 * not, allocated: "the rings on cuda:0 (NVIDIA H200) want 200 GiB of 131 GiB". */
gboolean ct_plan_fits(const CtPlan *plan, const CtMachine *machine, char **whose);
/* Refuses a plan that does not fit. `advice` is what of it would have to be less; NULL: nothing
 * helps. Returns FALSE. */
gboolean ct_plan_refuse(const CtPlan *plan, const CtMachine *machine, const char *advice,
                        GError **error);
