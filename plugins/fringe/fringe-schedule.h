/* SPDX-License-Identifier: BSD-3-Clause */
/* The sources that are observed one after another, from a file or from parameters. */
#pragma once

#include <cornerturn/observation.h>
#include <cornerturn/stage.h>

typedef struct {
    gint64 tick; /* of the clock of the delays: those from here on */
    CtScan scan;
    guint line, column; /* of the scan in the file */
} FringeScan;

/* By ascending ticks. */
typedef struct FringeSchedule {
    GArray *scans; /* of FringeScan */
} FringeSchedule;

/* The schedule of the node, whose output has its clock: the file of the parameter `schedule`, or
 * one scan of `phase_centre`, or of that of the observation. NULL with an error. */
FringeSchedule *fringe_schedule_new(const CtNode *node, const CtObservationFacts *facts,
                                    GError **error);
void fringe_schedule_free(FringeSchedule *schedule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FringeSchedule, fringe_schedule_free)

/* The scan of a tick; NULL before the first. */
const FringeScan *fringe_schedule_at(const FringeSchedule *schedule, gint64 tick);
