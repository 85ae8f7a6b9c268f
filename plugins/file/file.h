/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that file.source and file.sink share: elements on disk, and copies between strides. */
#pragma once

#include <cornerturn/kit/sink.h>
#include <cornerturn/npy.h>
#include <cornerturn/stage.h>

extern const CtStage file_source, file_sink;
extern const CtVariant file_source_cpu;
extern const CtSink file_sink_arrays;
extern const CtRow file_sink_rows[];

/* Choices of the parameter `format` of both stages. */
enum { FILE_AUTO, FILE_NPY, FILE_RAW };
extern const char *const file_formats[];
/* Resolves AUTO by the ending of the name, which must be a format's. */
gboolean file_format(const CtParams *params, const char *path, guint *format, GError **error);

/* Describes elements of a type in the form of .npy: complex integers and cf16 are pairs along a
 * last axis of 2, ci4 is one byte. Returns whether there is such an axis. */
gboolean file_npy_element(CtType type, CtNpyHeader *header);

/* The type for elements of a header if no type is given: NumPy's. NONE: no stage reads it. */
CtType file_npy_type(const CtNpyHeader *header);

/* Copies elements of `bytes` bytes between arrays of the same lengths and any strides. */
void file_copy(guint n_axes, const gint64 *length, guint8 *to, const gint64 *to_stride,
               const guint8 *from, const gint64 *from_stride, gsize bytes);
