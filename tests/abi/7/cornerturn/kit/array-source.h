/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of arrays: stages that read files which have a header and then one array, or only the
 * array.
 *
 * A plugin knows its format: it reads a header, and says what the array is. The kit does what all
 * such sources do: it opens the files and puts them in the order of their times, reads PATH.json
 * where there is one, checks that the files are still those that the graph was planned with, reads,
 * unpacks, and gives validity, ticks and the end of the stream.
 *
 *     static gboolean
 *     open_file(CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error)
 *     {
 *         …                                       read the header from file->fd
 *         stream->type = CT_U8;
 *         ct_stream_add_axis(stream, "time", n_samples);
 *         ct_stream_add_axis(stream, "channel", n_channels);
 *         file->offset = header_bytes;
 *         return ct_layout_parse(&file->layout, "u8[time channel]", error);
 *     }
 *
 *     static const CtArraySource source = {.files = "path", .name = "toy files", .open =
 * open_file};
 *
 *     static gboolean
 *     infer(CtNode *node, GError **error)
 *     {
 *         return ct_array_source_infer(&source, node, error);
 *     }
 *
 *     CT_STAGE_PLUGIN("toy", stage, CT_ARRAY_SOURCE_VARIANTS(source, "toy", CT_PORT_ROWS(0.1)));
 *
 * The stage has one output. The functions are called in the order open (for each file), describe,
 * then read or the file's unpack, and clear; for `infer` without reading, and again for each run
 * that is prepared.
 *
 * A pipe (`-`, `fd:3`, a FIFO) is one stream, too: its header is read when the graph is checked,
 * and its samples are read by the run, until it ends. It has no PATH.json.
 *
 * Several files are one stream. They have the same axes, the same clock and time as the slowest
 * axis. Where their headers or their PATH.json tell when they begin, they are put in this order,
 * and samples between them are invalid; otherwise they follow one another as they are named. Files
 * that overlap in time, or that begin between two samples of the first one, are errors. */
#pragma once

#include <cornerturn/kit/gaps.h>
#include <cornerturn/stage.h>

G_BEGIN_DECLS

typedef struct CtArrayFile CtArrayFile;

/* Unpacks `n` elements, from number `first` of those that begin in byte 0 of `bytes`, to elements
 * of the stream's type, one after another. `first` is 0 if elements are whole bytes. Called by the
 * thread that reads. */
typedef void (*CtArrayUnpack)(const CtArrayFile *file, const guint8 *bytes, guint first, gsize n,
                              guint8 *to);

/* One file. */
struct CtArrayFile {
    const char *path; /* owned by the kit */
    int fd;           /* open for reading */
    gint64 length;    /* in bytes */
    /* What PATH.json says: the stream and the layout; without it, type CT_TYPE_NONE and NULL. */
    const CtStream *said;
    const CtLayout *said_layout;

    /* `open` sets these. */
    CtLayout layout; /* of the array in the file: the stream's type and axes in `[ ]`. Time as the
                        slowest axis may have a block (`time:256`), of which the file has whole
                        ones. If the parts of complex elements are apart, `complex` is an axis, and
                        the type is that of a part */
    gint64 offset;   /* of the first element, in bytes */
    guint bits;      /* of an element in the file: 1, 2, 4 or a multiple of 8; 0: as many as the
                        stream's type has. Without an `unpack`, 1, 2 or 4 are unsigned numbers, which
                        become elements of one byte */
    gboolean is_high_first;     /* with 1, 2 or 4 bits: the first element has the highest bits of a
                                   byte; else the lowest */
    gboolean swap;              /* bytes of each value are in the reverse of this machine's order */
    CtArrayUnpack unpack;       /* with `bits`; NULL: none is needed, or that of the kit */
    CtArrayUnpack unpack_plain; /* for the variant `reference`, value by value; NULL: the same */
    gboolean has_start;         /* the stream's start is known; else it is where others end */
    gdouble start_error;        /* seconds by which the header's start may be wrong */
    gpointer self;              /* the plugin's, for `clear` */
    CtGaps *gaps; /* invalid samples that the file itself tells of, by the lanes of the stream; used
                     where PATH.json tells of none, freed by the kit; NULL: none */
    gint64 needs; /* with `is_pipe`: `open` sets it if it fails because `length` is less than this;
                     it is called again when there are as many bytes, if the pipe has them */
    gboolean is_pipe; /* set by the kit, for a source that `streams`: `fd` and `length` are those of
                         the first bytes alone. `open` describes time as −1 long if the header does
                         not say how long it is */
    guint64 reserved[5]; /* 0 */
};

typedef struct CtArraySource CtArraySource;

/* How a source reads its files; the plugin fills it in. */
struct CtArraySource {
    const char *files; /* the parameter, a path or a list of them, that names the files. A path of
                          which there is no file and that has one of `*?[` is a pattern for names of
                          files in the manner of the shell */
    const char *name;  /* "SIGPROC files", for messages */

    /* Reads the header, sets members of `file`, and describes the array as a stream: type, axes
     * with lengths, and what the header says of coordinates, labels, clock, start, frequency and
     * observation. Messages begin with the path. The file must be as long as its array; the kit
     * checks this. */
    gboolean (*open)(CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error);
    /* Changes the stream of all files as parameters say. NULL: none does. */
    gboolean (*describe)(const CtParams *given, CtStream *stream, GError **error);
    /* Reads samples first … first + n − 1 of a file, whose slowest axis is time, in the order of
     * its layout: for libraries that do this themselves. `offset` and `bits` are then not used.
     * NULL: the kit reads. */
    gboolean (*read)(const CtArrayFile *file, gint64 first, gint64 n, guint8 *to, GError **error);
    /* Frees what `open` has made, also if it has failed. NULL: nothing. */
    void (*clear)(CtArrayFile *file);
    gboolean streams;    /* can be read from a pipe: `open` heeds `is_pipe`, there is no `read`, and
                            `files` has CT_PARAM_PIPE. The kit refuses an array in which time is not
                            the slowest axis */
    guint64 reserved[7]; /* 0 */
};

/* The `infer` of the stage: opens the files, and describes their stream. What a PATH.json says
 * completes what the header says, and where both tell of clock or frequencies, they must agree
 * (within start_error, and ten digits): then those of PATH.json are taken, which has more digits
 * than most headers. */
CT_EXPORT gboolean ct_array_source_infer(const CtArraySource *source, CtNode *node, GError **error);

/* Parameters of sources whose files may not say what clock and frequencies an array has: rows of
 * the stage's table, and the source's `describe`, which changes the stream as they say. The `files`
 * of the source are `path`. */
#define CT_ARRAY_SOURCE_PARAMS                                                                     \
    {.name = "sample_rate",                                                                        \
     .kind = CT_PARAM_QUANTITY,                                                                    \
     .flags = CT_PARAM_RANGED,                                                                     \
     .unit = "Hz",                                                                                 \
     .minimum = 1e-9,                                                                              \
     .maximum = 1e15,                                                                              \
     .help = "samples per second along time"},                                                     \
        {.name = "ticks_per_sample",                                                               \
         .kind = CT_PARAM_INT,                                                                     \
         .flags = CT_PARAM_RANGED,                                                                 \
         .minimum = 1,                                                                             \
         .maximum = 1e12,                                                                          \
         .help =                                                                                   \
             "ticks of the clock from a sample to the next; left out: as PATH.json says, or 1"},   \
        {.name = "start", .kind = CT_PARAM_INT, .help = "tick of the first sample; left out: 0"},  \
        {.name = "epoch",                                                                          \
         .kind = CT_PARAM_STRING,                                                                  \
         .help =                                                                                   \
             "UTC of tick 0 to the second, 2022-06-29T01:30:00Z, or unix seconds; with a sample "  \
             "rate"},                                                                              \
        {.name = "centre_frequency",                                                               \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .unit = "Hz",                                                                             \
         .help = "of the band of complex samples"},                                                \
        {.name = "first_frequency",                                                                \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .unit = "Hz",                                                                             \
         .help = "lower edge of the band of real samples"},                                        \
    {                                                                                              \
        .name = "frequencies", .kind = CT_PARAM_QUANTITY, .flags = CT_PARAM_LIST, .unit = "Hz",    \
        .help = "of each subband or, without subbands, channel"                                    \
    }
CT_EXPORT gboolean ct_array_source_describe(const CtParams *given, CtStream *stream,
                                            GError **error);

/* ---- variants ---- */

CT_EXPORT gboolean ct_array_source_prepare(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_array_source_advance(gpointer state, CtAdvance *advance, GError **error);
CT_EXPORT gboolean ct_array_source_work(gpointer state, const CtWork *work, GError **error);
CT_EXPORT void ct_array_source_finish(gpointer state);

#define CT_ARRAY_SOURCE_VARIANT(source_, stage_, rows_, backend_, name_)                           \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = name_, .backend = backend_, .covers = (const char *const[]){stage_, NULL},         \
        .rows = rows_, .waits = TRUE, .form = &source_, .prepare = ct_array_source_prepare,        \
        .advance = ct_array_source_advance, .work = ct_array_source_work,                          \
        .finish = ct_array_source_finish,                                                          \
    }

/* The variants of a source, `cpu` and `reference`. A source that never unpacks needs only `cpu`. */
#define CT_ARRAY_SOURCE_VARIANTS(source_, stage_, rows_)                                           \
    CT_ARRAY_SOURCE_VARIANT(source_, stage_, rows_, CT_CPU, "cpu"),                                \
        CT_ARRAY_SOURCE_VARIANT(source_, stage_, rows_, CT_REFERENCE, "reference")

G_END_DECLS
