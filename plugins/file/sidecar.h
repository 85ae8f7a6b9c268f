/* SPDX-License-Identifier: BSD-3-Clause */
/* PATH.json, a file beside an array that describes its axes. */
#pragma once

#include <cornerturn/kit/gaps.h>
#include <cornerturn/stage.h>

/* What PATH.json says of an array beside the description of its stream. */
typedef struct {
    CtLayout *layout;     /* NULL: there is no PATH.json */
    CtGaps *gaps;         /* invalid samples; NULL: none */
    gint64 invalid;       /* samples over all lanes that are invalid, where it does not say which */
    gboolean interrupted; /* the stream had not ended */
} SidecarFacts;

void sidecar_facts_clear(SidecarFacts *facts);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SidecarFacts, sidecar_facts_clear)

/* Reads PATH.json, if it exists, to a stream (zeroed before): its clock, its observation, and the
 * axes that it names, whose lengths the caller checks. Fails if it gives another length of the
 * array's file than `bytes`. `facts` must be zero, and is to be cleared in either case. */
gboolean sidecar_read(const char *array_path, gint64 bytes, CtStream *stream, SidecarFacts *facts,
                      GError **error);
