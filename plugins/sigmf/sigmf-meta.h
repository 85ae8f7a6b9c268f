/* SPDX-License-Identifier: BSD-3-Clause */
/* The metadata of SigMF recordings, JSON in a file NAME.sigmf-meta. Follows the Signal Metadata
 * Format Specification, version 1.2 (sigmf.org). */
#pragma once

#include <cornerturn/tensor.h>

/* The most bytes of metadata, and the deepest objects in objects, that are read. */
#define SIGMF_MOST_BYTES (1 << 24)
#define SIGMF_MOST_DEPTH 64

typedef struct {
    gint64 start; /* sample at which it begins (core:sample_start) */
    gint64 header_bytes;
    gboolean has_frequency, has_time;
    gdouble frequency; /* hertz, of the middle of the band */
    gint64 second;     /* Unix seconds */
    gdouble fraction;  /* of a second, from 0 to 1 */
} SigmfCapture;

typedef struct {
    CtType type;
    gboolean is_big; /* the highest byte of a part comes first */
    gint64 n_channels;
    gdouble rate; /* samples per second; 0: not known */
    gint64 trailing_bytes;
    char *dataset; /* the name of the file of samples; NULL: that of the metadata */
    char *author;
    gboolean has_location;
    gdouble location[3]; /* metres in the ITRF */
    GArray *captures;    /* SigmfCapture, in the order of their samples */
} SigmfMeta;

/* Reads `n` bytes of metadata. `meta` must be clear, and is cleared by the caller also if this
 * fails. Messages begin with the path: "PATH: core:datatype wants …, but is given 'ri9'". */
gboolean sigmf_meta_parse(SigmfMeta *meta, const char *path, const char *text, gsize n,
                          GError **error);
void sigmf_meta_clear(SigmfMeta *meta);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SigmfMeta, sigmf_meta_clear)
