/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of firings and rings: plan-device-firings.c, plan-skew.c, plan-rings.c, plan-memory.c. */
#pragma once

#include "plan.h"

/* Whether samples flow along time into input `port`, which is not static. */
gboolean ct_plan_flows(const CtPlan *plan, const CtPlanNode *node, guint port);
/* Whether no input of the node flows along time. */
gboolean ct_plan_is_source(const CtPlan *plan, const CtPlanNode *node);
/* The bytes that every firing goes through as a whole, however few its samples: sums that continue
 * from one firing to the next, and static inputs. */
gsize ct_plan_bytes_of_sums(const CtPlan *plan, const CtPlanNode *node);
gsize ct_plan_bytes_of_statics(const CtPlan *plan, const CtPlanNode *node);
/* [node] the ticks of stream that a firing on a device covers, 0 for nodes on the host; allocated.
 * Wants granules. */
gint64 *ct_plan_device_firings(const CtPlan *plan, const CtMachine *machine);
/* The least common multiple; 0: it is too large. */
gint64 ct_least_multiple(gint64 a, gint64 b);
/* The footprint of one input. A CT_FOOTPRINT_OWN counts in samples of that input, which may be
 * longer or shorter than those of the output. */
CtFootprint ct_plan_footprint(const CtPlan *plan, const CtPlanNode *node, guint port);
/* The samples of an input for each one of the output: the hop or, with CT_FOOTPRINT_OWN, the ratio
 * of their lengths, which is below 1 where those of the input are longer. */
gdouble ct_plan_samples_each(const CtPlan *plan, const CtPlanNode *node, guint port);
/* The most samples of an input of which a firing makes `made` samples; G_MAXINT64: too many. */
gint64 ct_plan_samples_seen(const CtPlan *plan, const CtPlanNode *node, guint port, gint64 made);
/* Sets the skew of all links and the circles that cause it. Wants granules. */
void ct_plan_find_skew(CtPlan *plan);
/* The reason for the ring's size, allocated: "2 × 2048 of a firing, 400000 of skew around late >
 * both < sky, 15 of history". */
char *ct_plan_explain_ring(const CtPlanLink *link);
/* Sets samples, granules, histories, skews, capacities and bytes of all links, and the samples of
 * all bindings. Wants queues. */
void ct_plan_size_rings(CtPlan *plan, const CtMachine *machine, gsize cache_bytes);
/* Finds the transient links, and gives all links on devices a place in their device's arena. Wants
 * sizes. */
void ct_plan_place_links(CtPlan *plan);
/* The source whose `block` sets the size of firings on devices, the longest where there are
 * several; NULL: there is none. */
const CtPlanNode *ct_plan_asked_block(const CtPlan *plan);
/* Whether all rings fit, on the host and on each device. If not, *whose, unless NULL, is set to a
 * text, allocated: "the rings on cuda:0 (NVIDIA H200) want 200 GiB of 131 GiB". */
gboolean ct_plan_fits(const CtPlan *plan, const CtMachine *machine, char **whose);
/* Sets the error for a plan that does not fit and returns FALSE. `advice` names the option that
 * would need less; NULL: none would. */
gboolean ct_plan_refuse(const CtPlan *plan, const CtMachine *machine, const char *advice,
                        GError **error);
