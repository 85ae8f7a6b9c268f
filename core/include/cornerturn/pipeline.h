/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a graph inside another program: load, set, plan, run; feed and take blocks by pointer.
 *
 *     g_autoptr(CtPipeline) pipeline = ct_pipeline_load("graph.yaml", &error);
 *     ct_pipeline_set(pipeline, "filter.n_taps=8", &error);
 *     ct_pipeline_start(pipeline, &error);
 *     ct_pipeline_wait(pipeline, -1);
 *     ct_pipeline_result(pipeline, &error);
 *
 * What a graph reads from the program stands in it as stage `input`, what it gives to the program
 * as stage `output`. A pipeline runs once. Its functions may be called from any thread, but the
 * ones that configure it not at the same time as others. What returns gboolean or a pointer and
 * takes an error sets it where it returns FALSE or NULL; what is allocated is freed by g_free. */
#pragma once

#include <cornerturn/stage.h>

G_BEGIN_DECLS

typedef struct CtPipeline CtPipeline;

/* Reads a graph's file; the places of its errors are in that file. */
CT_EXPORT CtPipeline *ct_pipeline_load(const char *path, GError **error);
/* From memory: `name` stands for the file in errors; `length` −1: up to the NUL. */
CT_EXPORT CtPipeline *ct_pipeline_parse(const char *text, gssize length, const char *name,
                                        GError **error);
/* Stops what runs, without completing the sinks, and frees. Accepts NULL. */
CT_EXPORT void ct_pipeline_free(CtPipeline *pipeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPipeline, ct_pipeline_free)

/* ---- before the plan ---- */

/* "node.parameter=value", the value as the graph's file would have it. */
CT_EXPORT gboolean ct_pipeline_set(CtPipeline *pipeline, const char *assignment, GError **error);
/* "auto", "reference", "cpu", "cuda", "cuda:1"; `node` NULL: for all that the graph leaves open. */
CT_EXPORT gboolean ct_pipeline_set_backend(CtPipeline *pipeline, const char *node,
                                           const char *backend, GError **error);
/* `variant`: "cuda", or with values of its tunables "cuda:tile=4,threads=64". */
CT_EXPORT gboolean ct_pipeline_set_variant(CtPipeline *pipeline, const char *node,
                                           const char *variant, GError **error);
/* 0: as many as the environment's CORNERTURN_WORKERS says, else one for each processor that the
 * process may use. At most CT_PIPELINE_MAX_WORKERS. */
CT_EXPORT void ct_pipeline_set_workers(CtPipeline *pipeline, guint n_workers);
#define CT_PIPELINE_MAX_WORKERS 4096
/* The plan keeps what a firing reads and writes near so many bytes; 0: half of the workers' L2. */
CT_EXPORT void ct_pipeline_set_cache(CtPipeline *pipeline, gsize bytes);
/* A firing on a device covers so much of the stream that its largest block has about so many bytes;
 * 0: as many as tuning has found best for the graph, else a 256th of the device's memory, 512 MiB
 * at most. Larger ones waste less on launches; they are longer on their way. */
CT_EXPORT void ct_pipeline_set_device_block(CtPipeline *pipeline, gsize bytes);
/* Blocks that a node of a device works on, or waits to, at once, at most CT_PIPELINE_MAX_IN_FLIGHT:
 * more of them hide what the host is late by, and want more memory. 0: three. */
CT_EXPORT void ct_pipeline_set_in_flight(CtPipeline *pipeline, guint n_blocks);
#define CT_PIPELINE_MAX_IN_FLIGHT 16
/* The store of measured costs that the plan goes by: a file, or "off": the plan follows the model
 * alone. NULL: the one in CORNERTURN_COSTS, or the user's cache. */
CT_EXPORT void ct_pipeline_set_costs(CtPipeline *pipeline, const char *costs);
/* Plan each stage in the layouts that published codes have for it, as near as its variants come to
 * them, and none fused: what a tuned plan is compared with. */
CT_EXPORT void ct_pipeline_set_default_layouts(CtPipeline *pipeline, gboolean default_layouts);
/* The plan's description says what the loss of so many samples in a row touches; else of one. */
CT_EXPORT void ct_pipeline_set_missing(CtPipeline *pipeline, gint64 n_samples);
/* Sources end after so many seconds of stream; 0: at their own end. */
CT_EXPORT void ct_pipeline_set_duration(CtPipeline *pipeline, gdouble seconds);
/* Makes every warning an error: of the check, of the plan, or of the run, which then completes no
 * sink. */
CT_EXPORT void ct_pipeline_set_strict(CtPipeline *pipeline, gboolean strict);
/* Fill every block with NaN before it is written, so that what a stage forgets shows. */
CT_EXPORT void ct_pipeline_set_poison(CtPipeline *pipeline, gboolean poison);

/* ---- the plan ---- */

/* Everything that can be known without planning: stages, parameters, shapes. */
CT_EXPORT gboolean ct_pipeline_check(CtPipeline *pipeline, GError **error);
/* Chooses variants and layouts. Checks where that has not been done. */
CT_EXPORT gboolean ct_pipeline_plan(CtPipeline *pipeline, GError **error);
/* The warnings, a line each: "FILE:LINE:COLUMN: node 'NAME': warning: …". Those of the graph are
 * known once it is checked, those of the plan once it is made, those of the run once it is over;
 * later ones are appended. For g_strfreev. */
CT_EXPORT char **ct_pipeline_warnings(const CtPipeline *pipeline);
/* The plan as "text", "dot" or "json"; what else there was, and what it would cost, as "explain" or
 * "explain-json"; how much it could keep up with as "capacity" or "capacity-json"; allocated. Plans
 * where that has not been done. */
CT_EXPORT char *ct_pipeline_describe(CtPipeline *pipeline, const char *format, GError **error);
/* The stream that leaves `output` of `node` (NULL: its first), owned by the pipeline; checks where
 * that has not been done. */
CT_EXPORT const CtStream *ct_pipeline_stream(CtPipeline *pipeline, const char *node,
                                             const char *output, GError **error);

/* ---- proving ---- */

/* Runs the graph, without its sinks, as it would run and on the backend `against`, and compares
 * what the nodes give: each by itself, on one input, then all together; or `node` (unless NULL) by
 * itself. Returns a report for people, allocated; *agrees: whether all differences are within the
 * bounds that the stages give. Where nothing could be compared, that is a warning. Waits for the
 * end of the streams, or the duration. */
CT_EXPORT char *ct_pipeline_verify(CtPipeline *pipeline, const char *against, const char *node,
                                   gboolean *agrees, GError **error);

/* ---- running ---- */

/* Prepares every stage and allocates every ring. Plans where that has not been done. */
CT_EXPORT gboolean ct_pipeline_prepare(CtPipeline *pipeline, GError **error);
/* Starts the threads. Prepares where that has not been done. */
CT_EXPORT gboolean ct_pipeline_start(CtPipeline *pipeline, GError **error);
/* Sources end now, inputs too; what they gave flows to the sinks, which are completed. */
CT_EXPORT void ct_pipeline_interrupt(CtPipeline *pipeline);
/* Whether the run is over; waits for it at most `seconds` (negative: for ever). */
CT_EXPORT gboolean ct_pipeline_wait(CtPipeline *pipeline, gdouble seconds);
/* After the run: TRUE, or the first error. */
CT_EXPORT gboolean ct_pipeline_result(CtPipeline *pipeline, GError **error);
/* Whether an interrupt ended a stream before its own end. */
CT_EXPORT gboolean ct_pipeline_is_interrupted(CtPipeline *pipeline);
/* Seconds of stream that the sources have given so far. */
CT_EXPORT gdouble ct_pipeline_stream_seconds(CtPipeline *pipeline);
/* Whether it runs, is complete, was interrupted or has failed, and of what; its warnings; time,
 * blocks, samples, bytes, operations, queue and counters per node: as JSON, allocated. */
CT_EXPORT char *ct_pipeline_stats_json(CtPipeline *pipeline);
/* The same as a table for people, allocated. */
CT_EXPORT char *ct_pipeline_stats_text(CtPipeline *pipeline);
/* "filter 80% sink 5%": the fullest queues now, allocated. */
CT_EXPORT char *ct_pipeline_queue_text(CtPipeline *pipeline);

/* ---- blocks of the program's own ---- */

/* Called when no stage reads the samples any more, or the pipeline is freed: the memory is the
 * program's again. It runs on a thread of the pipeline and must not call back into it. */
typedef void (*CtReleased)(gpointer data, gpointer user_data);

/* Gives `n_samples` samples to the `input` named `node`, in the layout that its graph entry states,
 * packed. They are read where they lie, and must stay until `released` (which may be NULL where the
 * program knows otherwise); only what a window reads across the end of a block is copied.
 * `validity` is [lane][n_samples], 1 valid, 0 invalid, or NULL: all valid. Blocks follow one
 * another without gap. Waits while CT_PIPELINE_QUEUE blocks are unread. One thread feeds a node. */
CT_EXPORT gboolean ct_pipeline_feed(CtPipeline *pipeline, const char *node, gpointer data,
                                    gint64 n_samples, const guint8 *validity, CtReleased released,
                                    gpointer user_data, GError **error);
/* Nothing more comes from the program. */
CT_EXPORT gboolean ct_pipeline_feed_end(CtPipeline *pipeline, const char *node, GError **error);

/* Blocks that an `input` or an `output` queues. */
#define CT_PIPELINE_QUEUE 4

/* Waits at most `seconds` (negative: for ever) for samples at the `output` named `node` and
 * describes them in `block`: in the ring, or, after ct_pipeline_offer, in the program's memory.
 * They stay until ct_pipeline_give_back. n_samples 0 with TRUE: the stream has ended. FALSE with an
 * error: the run has failed; without: time is up. */
CT_EXPORT gboolean ct_pipeline_take(CtPipeline *pipeline, const char *node, gdouble seconds,
                                    CtBlock *block, GError **error);
/* Gives the block taken last back to the pipeline. */
CT_EXPORT void ct_pipeline_give_back(CtPipeline *pipeline, const char *node);

/* ---- blocks in a device's memory ----
 *
 * Where an `input` or an `output` itself has `backend: cuda`, `data` above is an address on that
 * device and nothing is copied to or from the host. Without a stream of the program's, what it
 * feeds must be complete, what it takes is, and what it gives back it has done with; `released` is
 * called when the device has read the block. */

/* After the start: the program's work on `node`, an `input` or `output` on a device, is enqueued on
 * its CUstream `stream` (of the device's primary context), so that neither waits on the host: the
 * pipeline reads a block fed after what the stream has been given until then, the stream goes on
 * after a block taken is there, and the pipeline writes over it after what the stream has been
 * given until it is given back. */
CT_EXPORT gboolean ct_pipeline_set_stream(CtPipeline *pipeline, const char *node, gpointer stream,
                                          GError **error);

/* ---- results in memory of the program's own ---- */

/* Before the start: the ring that `node`, an `output`, reads shall lie in memory of the program, so
 * that the stage before writes there: ct_pipeline_memory_bytes bytes, 64-byte aligned, until the
 * pipeline is freed. Outputs that read the same ring are offered memory for it once. */
CT_EXPORT gboolean ct_pipeline_offer(CtPipeline *pipeline, const char *node, gpointer memory,
                                     gsize bytes, GError **error);
/* Bytes that ct_pipeline_offer wants for `node`; plans where that has not been done. 0 with an
 * error. */
CT_EXPORT gsize ct_pipeline_memory_bytes(CtPipeline *pipeline, const char *node, GError **error);

G_END_DECLS
