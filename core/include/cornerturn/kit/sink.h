/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinks of files: stages that write their stream to files of a format.
 *
 * A plugin knows its format: what it can't hold, the bytes of a header, how samples are laid out.
 * The kit does what all such sinks do: partial names and their lock, PATH.json with layout, axes,
 * labels, clock, observation and validity, the order in which files become final, what remains
 * after a failure, several files one after another (rotation), and pipes.
 *
 *     static gboolean
 *     open_file(CtSinkFile *file, GError **error)
 *     {
 *         return ct_sink_append(file, "TOY1", 4, error);
 *     }
 *
 *     static gboolean
 *     write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
 *     {
 *         return ct_sink_append(file, block->data, block->n_samples * file->sample_bytes, error);
 *     }
 *
 *     static const CtSink sink = {
 *         .name = "toy files", .streams = TRUE, .open = open_file, .write = write_samples};
 *
 *     static const CtParam params[] = {CT_SINK_PARAMS("the file"), {NULL}};
 *
 *     static gboolean
 *     infer(CtNode *node, GError **error)
 *     {
 *         return ct_sink_infer(&sink, node, error);
 *     }
 *
 *     CT_STAGE_PLUGIN("toy", stage, CT_SINK_VARIANTS(sink, "toy.sink", rows));
 *
 * The stage has one input, which the file is made of, and perhaps further ones along the same time,
 * such as weights. Its rows have time as a whole axis, or no time. The functions are called
 * in the order check (for `infer`); then for each file open, write and mark in any order, close,
 * clear: all on the thread that `prepare` is called on, or later on that of the sink. `fd` and
 * `path` are of the partial file, and stay the kit's: functions never rename, replace or remove
 * it. */
#pragma once

#include <cornerturn/stage.h>

G_BEGIN_DECLS

typedef struct CtSink CtSink;

/* A file, a pipe, or an address of the network, that a sink writes. */
typedef struct {
    const CtSink *sink;
    gpointer self;          /* the plugin's, self_bytes long, all 0 before `open` */
    const CtParams *given;  /* the stage's parameters */
    const CtBinding *input; /* the stream, the layout of its blocks, the most samples of a block */
    const char *path;       /* of the partial file; of a pipe, its name for messages */
    int fd;                 /* for reading and writing; of a pipe, for writing */
    gboolean is_pipe; /* only ct_sink_append, ct_sink_room and ct_sink_packet write; also of an
                         address */
    gint64 number;    /* of the file, from 0 on */
    gint64 expected;  /* samples that it will have; −1: not known. An interrupt, or a source
                         that ends early, leaves it with fewer */

    guint64 *counters; /* during `write`: those of the stage, as in CtWork */

    /* What PATH.json says of the array. The kit sets it to the part of the input that the file
     * has, and `open` may change it where the file holds another array: axes in another order, or
     * merged to one. `start` is the tick of the file's first sample. */
    CtStream stream;
    CtLayout layout; /* at first that of the input */
    gint64 *lanes;   /* [lanes of `stream`] the lane of the input of each, from g_new, freed by the
                        kit; NULL: the same */
    gint64 sample_bytes; /* of a sample (along time) in the file: the kit sets it to those of
                            `layout`, and `open` changes it where they differ. Used to rotate by
                            bytes, and to count the samples that are written */
    gint64 header_bytes; /* before the samples: what `open` has appended; `open` sets it if it
                            appends nothing */

    /* Set by the kit before `mark` and `close` to the samples that are written; formats that don't
     * append set them themselves in both. */
    gint64 n_samples; /* of which all bytes are in the file */
    gint64 length;    /* of the file's axis time, with room that is not used yet */

    /* What makes the file, as PATH.json says it. */
    const char *version; /* of Cornerturn */
    const char *node;    /* the sink */
    const char *graph;   /* the text of the graph; NULL: not known */

    /* During `write`: the same samples of the stage's further inputs, in the order of its ports;
     * data NULL: not connected. */
    const CtBlock *others;
    guint64 reserved[4]; /* 0 */
} CtSinkFile;

/* How a sink writes its files; the plugin fills it in. */
struct CtSink {
    const char *name; /* "SIGPROC files", for messages */
    gsize self_bytes;
    gboolean by_name; /* a library creates the file `path` in `open`, and closes it in `close`: it
                         is not there before, and `fd` is −1 until `open` has returned. Without it,
                         the empty file is there, locked */
    gboolean streams; /* can be written to a pipe: `open` and `write` only append, and what `mark`
                         and `close` would rewrite is right from the start on a pipe */

    /* Checks what the format can't hold, and may set the wish for the layout
     * (node->input_layouts[0]): if it doesn't, it is the canonical order. NULL: neither. */
    gboolean (*check)(CtNode *node, GError **error);
    /* Writes the header. The file is empty. NULL: there is none. If it fails, only `clear` is
     * called. */
    gboolean (*open)(CtSinkFile *file, GError **error);
    /* Writes the samples of a block, a part of one that has come. Of a stream without time, the
     * last block counts: then the file has only its header again. */
    gboolean (*write)(CtSinkFile *file, const CtBlock *block, GError **error);
    /* Makes all that is written readable, now and then while samples come: counts in headers,
     * buffers of libraries. Not called for pipes. NULL: nothing to do. */
    gboolean (*mark)(CtSinkFile *file, GError **error);
    /* Completes the file. After a failure it is called with an error of NULL, and leaves as much as
     * can be read. Not called for pipes, or if `open` failed. NULL: nothing to do. */
    gboolean (*close)(CtSinkFile *file, GError **error);
    /* Frees what the plugin's struct has, which may be half made. NULL: nothing. */
    void (*clear)(gpointer self);
    /* Appends what is left at the end of a pipe, or at an interrupt; not after a failure. NULL:
     * nothing is. */
    gboolean (*end)(CtSinkFile *file, GError **error);
    /* Can also be sent to an address of the network (udp://ADDRESS:PORT), with `streams`: on a pipe
     * only ct_sink_packet writes, and the stage's table has CT_SINK_SEND_PARAMS. */
    gboolean sends;
    guint64 reserved[6]; /* 0 */
};

/* ---- for the functions of a sink ---- */

/* Appends `n` bytes to the file: they are copied, and written when there are many of them, or time
 * has passed. */
CT_EXPORT gboolean ct_sink_append(CtSinkFile *file, gconstpointer bytes, gint64 n, GError **error);
/* Appends `n` bytes, which the caller puts at the address returned before the next call; NULL with
 * an error. For up to some MiB at a time. */
CT_EXPORT guint8 *ct_sink_room(CtSinkFile *file, gint64 n, GError **error);
/* Appends `n` bytes, which are a packet: they become a datagram if the sink writes to an address of
 * the network. `sample` is the file's sample that the packet begins with, or one between that and
 * the next packet's, where several begin together: by it, datagrams are sent at their times. */
CT_EXPORT gboolean ct_sink_packet(CtSinkFile *file, gconstpointer bytes, gint64 n, gint64 sample,
                                  GError **error);
/* Says that what has been appended is whole up to a sample of the file, after the last packet of a
 * time: then `n_samples` is that of the last call, and a failure leaves no bytes behind it. For
 * formats whose samples do not all have the same bytes. */
CT_EXPORT void ct_sink_piece(CtSinkFile *file, gint64 sample);
/* The number of elements of a block of the file's input that are invalid, and therefore zero: what
 * a sink counts of its samples (as clipped) leaves them out. */
CT_EXPORT gint64 ct_sink_n_invalid(const CtSinkFile *file, const CtBlock *block);
/* Updates PATH.json.partial with file->n_samples and length: for a format that moves what is
 * written, and tells so before. */
CT_EXPORT gboolean ct_sink_describe(CtSinkFile *file, GError **error);
/* Whether `path` names standard output (`-`), an open file (`fd:3`), a FIFO, or an address. */
CT_EXPORT gboolean ct_sink_is_pipe(const CtParams *given);
/* Whether `path` names an address of the network. */
CT_EXPORT gboolean ct_sink_is_address(const CtParams *given);
/* The most bytes of a datagram. */
#define CT_SINK_MOST_DATAGRAM 65507

/* ---- the stage ---- */

/* The `infer` of the stage. */
CT_EXPORT gboolean ct_sink_infer(const CtSink *sink, CtNode *node, GError **error);

/* Parameters of every sink of files: rows of the stage's table. `path_help_` says what the file is.
 * The second macro is for formats whose files have whole pieces (blocks, frames, integrations), so
 * that no number of bytes ends them. */
#define CT_SINK_PARAMS(path_help_)                                                                 \
    CT_SINK_PARAMS_WHOLE(path_help_),                                                              \
    {                                                                                              \
        .name = "rotate_bytes", .kind = CT_PARAM_QUANTITY, .unit = "B",                            \
        .help = "begin a new file where one would have more bytes"                                 \
    }
#define CT_SINK_PARAMS_WHOLE(path_help_)                                                           \
    {.name = "path",                                                                               \
     .kind = CT_PARAM_PATH,                                                                        \
     .flags = CT_PARAM_REQUIRED | CT_PARAM_WRITTEN | CT_PARAM_PIPE,                                \
     .endings = (const char *const[]){".json", ".partial", ".json.partial", NULL},                 \
     .help = path_help_ "; PATH.partial until the stream has ended"},                              \
        {.name = "digest",                                                                         \
         .kind = CT_PARAM_CHOICE,                                                                  \
         .choices = (const char *const[]){"none", "sha256", NULL},                                 \
         .fallback = "none",                                                                       \
         .help = "sha256: PATH.json has this digest of the file, which is read once more for it"}, \
        {.name = "rotate_time",                                                                    \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .unit = "s",                                                                              \
         .help = "begin a new file after this time; PATH then has conversions"},                   \
    {                                                                                              \
        .name = "rotate_samples", .kind = CT_PARAM_INT, .flags = CT_PARAM_RANGED, .minimum = 1,    \
        .maximum = 9e18, .help = "begin a new file after this number of samples"                   \
    }

/* Parameters of sinks that can be sent to an address of the network (CtSink.sends), beside one of
 * the macros above. */
#define CT_SINK_SEND_PARAMS                                                                        \
    {.name = "speed",                                                                              \
     .kind = CT_PARAM_REAL,                                                                        \
     .flags = CT_PARAM_RANGED,                                                                     \
     .minimum = 0,                                                                                 \
     .maximum = 1e9,                                                                               \
     .fallback = "1",                                                                              \
     .help = "to an address: of the datagrams, in the time of the stream; 0: as they come"},       \
        {.name = "ttl",                                                                            \
         .kind = CT_PARAM_INT,                                                                     \
         .flags = CT_PARAM_RANGED,                                                                 \
         .minimum = 0,                                                                             \
         .maximum = 255,                                                                           \
         .fallback = "1",                                                                          \
         .help = "to a group of multicast: the networks that a datagram may pass"},                \
    {                                                                                              \
        .name = "loop", .kind = CT_PARAM_BOOL, .fallback = "true",                                 \
        .help = "to a group of multicast: programs of this machine receive it, too"                \
    }

/* ---- variants ---- */

CT_EXPORT gboolean ct_sink_prepare(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_sink_work(gpointer state, const CtWork *work, GError **error);
CT_EXPORT gboolean ct_sink_close(gpointer state, gboolean interrupted, GError **error);
CT_EXPORT gboolean ct_sink_complete(gpointer state, gboolean interrupted, GError **error);
CT_EXPORT void ct_sink_finish(gpointer state);

/* The variants of a sink: `cpu`, which has a thread of its own. */
#define CT_SINK_VARIANTS(sink_, stage_, rows_)                                                     \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = "cpu", .backend = CT_CPU, .covers = (const char *const[]){stage_, NULL},           \
        .rows = rows_, .waits = TRUE, .form = &sink_, .prepare = ct_sink_prepare,                  \
        .work = ct_sink_work, .close = ct_sink_close, .complete = ct_sink_complete,                \
        .finish = ct_sink_finish,                                                                  \
    }

G_END_DECLS
