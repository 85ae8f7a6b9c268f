/* SPDX-License-Identifier: BSD-3-Clause */
/* Power over time and frequency as filterbanks of every kind hold it: what of a stream they can
 * hold, what the header says, and the samples, [time][IF][channel]. */
#pragma once

#include "sigproc-header.h"

#include <cornerturn/kit/filterbank.h>
#include <cornerturn/kit/sink.h>

/* How samples become elements of the file. */
typedef struct {
    CtType type; /* of the blocks: f32, u8 or i8 */
    guint bits;
    gboolean is_signed; /* 8 bits */
    gboolean is_copied; /* the bytes of the blocks are those of the file */
    gfloat offset;
    const char *ifs; /* the axis that becomes the IFs; NULL: there is one */
    gint64 n_ifs;
} SigprocElements;

typedef struct {
    SigprocElements elements;
    CtChannels channels;
    gint64 *offsets; /* [channel of the file] bytes in a block, from its channel 0 on */
    gfloat *row;     /* [channel] of one IF, before they become levels */
} SigprocPower;

/* The counter of the stage. */
enum { SIGPROC_CLIPPED };

extern const char *const sigproc_orders[];

/* The parameters of a sink of filterbanks. One in HDF5 (`is_hdf5`) has f32 alone, no `bits` and
 * `offset`, and no table of frequencies. */
#define SIGPROC_POWER_PARAMS                                                                       \
    {.name = "order",                                                                              \
     .kind = CT_PARAM_CHOICE,                                                                      \
     .choices = sigproc_orders,                                                                    \
     .fallback = "descending",                                                                     \
     .help = "of the frequencies in the file: descending, or as in the stream"},                   \
        {.name = "telescope_id",                                                                   \
         .kind = CT_PARAM_INT,                                                                     \
         .flags = CT_PARAM_RANGED,                                                                 \
         .minimum = 0,                                                                             \
         .maximum = G_MAXINT32,                                                                    \
         .help = "SIGPROC's number; left out: that of the observation's telescope, or 0"},         \
    {                                                                                              \
        .name = "machine_id", .kind = CT_PARAM_INT, .flags = CT_PARAM_RANGED, .minimum = 0,        \
        .maximum = G_MAXINT32, .fallback = "0", .help = "SIGPROC's number of the instrument"       \
    }

/* For the `check` of a sink: refuses streams that a filterbank can't hold, and wishes the layout
 * nearest to the file's. */
gboolean sigproc_power_check(CtNode *node, gboolean is_hdf5, GError **error);
/* For the sink's `open`; the rest for the functions of its names. A sink's struct begins with a
 * SigprocPower. Sets the stream, the layout, the lanes and the bytes of a sample of the file. */
gboolean sigproc_power_open(CtSinkFile *file, gboolean is_hdf5, GError **error);
gboolean sigproc_power_write(CtSinkFile *file, const CtBlock *block, GError **error);
void sigproc_power_clear(gpointer self);
/* Sets what the header of an open file says; `header` must be zero. */
void sigproc_power_header(const CtSinkFile *file, SigprocHeader *header);
