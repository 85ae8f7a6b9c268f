/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a graph inside another program: load, set, plan, run; feed and take blocks by pointer.
 *
 *     g_autoptr(CtPipeline) pipeline = ct_pipeline_load("graph.yaml", &error);
 *     ct_pipeline_set(pipeline, "filter.n_taps=8", &error);
 *     ct_pipeline_start(pipeline, &error);
 *     ct_pipeline_wait(pipeline, -1);
 *     ct_pipeline_result(pipeline, &error);
 *
 * The program feeds a graph through the stage `input` and takes from it through the stage `output`.
 * The same header verifies and tunes a graph. Beside it, inspect.h describes the installed stages,
 * costs.h serves the database of measured costs, and text.h reads quantities such as "200 MHz".
 *
 * A pipeline takes four steps in this order: ct_pipeline_check, ct_pipeline_plan,
 * ct_pipeline_prepare, ct_pipeline_start. Each takes those before it if necessary, as do the
 * functions that say so. A pipeline runs once. Its functions may be called from any thread, but no
 * other function may run at the same time as one that sets something or takes a step; only
 * ct_pipeline_set_at and its kin may, once the run has started.
 *
 * Functions that take an error set it if they return FALSE or NULL (except ct_pipeline_take when
 * its time is up). The error is CT_ERROR_ORDER for a call that comes too late or too early, and
 * CT_ERROR_PARAMETER for a value out of range; nothing is changed then. Free allocated results with
 * g_free. */
#pragma once

#include <cornerturn/error.h>
#include <cornerturn/tensor.h>

G_BEGIN_DECLS

typedef struct CtPipeline CtPipeline;

/* Reads a graph from a file. Errors give places in that file; all that do not follow from others
 * are told, a line each. */
CT_EXPORT CtPipeline *ct_pipeline_load(const char *path, GError **error);
/* The same with settings, as ct_pipeline_set() takes each: for graphs with parameters that have no
 * value of their own. NULL-terminated, or NULL. */
CT_EXPORT CtPipeline *ct_pipeline_load_with(const char *path, const char *const *settings,
                                            GError **error);
/* Reads a graph from memory. `name` stands for the file in errors. `length` −1: the text ends with
 * a NUL. */
CT_EXPORT CtPipeline *ct_pipeline_parse(const char *text, gssize length, const char *name,
                                        GError **error);
/* Stops a run without completing the sinks, and frees the pipeline. Accepts NULL. */
CT_EXPORT void ct_pipeline_free(CtPipeline *pipeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPipeline, ct_pipeline_free)

/* ---- before the check ---- */

/* Sets "node.parameter=value", or "name=value" for a parameter of the graph, with the value in
 * YAML. */
CT_EXPORT gboolean ct_pipeline_set(CtPipeline *pipeline, const char *assignment, GError **error);
/* Ends the sources after this time of stream, finite; 0: at their own end. */
CT_EXPORT gboolean ct_pipeline_set_duration(CtPipeline *pipeline, gdouble seconds, GError **error);
/* Turns every warning of the check, of the plan and of the run into an error. A run with a warning
 * completes no sink. */
CT_EXPORT gboolean ct_pipeline_set_strict(CtPipeline *pipeline, gboolean strict, GError **error);

/* Whether sources may read pipes (default: they may). The check reads a pipe's header, which nobody
 * can read again: so a program that will not run the pipeline sets FALSE, and a pipe is then an
 * error. */
CT_EXPORT gboolean ct_pipeline_set_reads_pipes(CtPipeline *pipeline, gboolean reads,
                                               GError **error);

/* ---- before the plan ---- */

/* Sets "auto", "reference", "cpu", "cuda" or "cuda:1". `node` NULL: for all nodes to which the
 * graph gives no backend. */
CT_EXPORT gboolean ct_pipeline_set_backend(CtPipeline *pipeline, const char *node,
                                           const char *backend, GError **error);
/* `variant`: "cuda", or "cuda:tile=4,threads=64" with values of its tunables. */
CT_EXPORT gboolean ct_pipeline_set_variant(CtPipeline *pipeline, const char *node,
                                           const char *variant, GError **error);
/* At most CT_PIPELINE_MAX_WORKERS. 0: the number in the environment variable CORNERTURN_WORKERS, or
 * else one for each processor of the run. */
CT_EXPORT gboolean ct_pipeline_set_workers(CtPipeline *pipeline, guint n_workers, GError **error);
#define CT_PIPELINE_MAX_WORKERS 4096
/* The processors of the run, "0-3,8". NULL: those that the graph names, or else all that the
 * process may use. */
CT_EXPORT gboolean ct_pipeline_set_cpus(CtPipeline *pipeline, const char *cpus, GError **error);
/* The bytes that a firing should read and write, at about, at most CT_PIPELINE_MAX_BYTES. 0: half
 * of the workers' L2 caches. */
CT_EXPORT gboolean ct_pipeline_set_cache(CtPipeline *pipeline, gsize bytes, GError **error);
#define CT_PIPELINE_MAX_BYTES 1000000000000000
/* The bytes that the largest block of a firing on a device should have, at about, at most
 * CT_PIPELINE_MAX_BYTES. 0: the best number found by tuning for this graph, or else 1/256 of the
 * device's memory, at most 512 MiB. Larger blocks waste less time on launches, but have more
 * latency. */
CT_EXPORT gboolean ct_pipeline_set_device_block(CtPipeline *pipeline, gsize bytes, GError **error);
/* The number of blocks that a node on a device works on or waits for at once, at most
 * CT_PIPELINE_MAX_IN_FLIGHT. More blocks hide more delays of the host, but need more memory. 0:
 * three. */
CT_EXPORT gboolean ct_pipeline_set_in_flight(CtPipeline *pipeline, guint n_blocks, GError **error);
#define CT_PIPELINE_MAX_IN_FLIGHT 16
/* The database of measured costs for the plan: a file, or "off" to plan with the model alone. NULL:
 * the file in CORNERTURN_COSTS, or the one in the user's cache. */
CT_EXPORT gboolean ct_pipeline_set_costs(CtPipeline *pipeline, const char *costs, GError **error);
/* Plans each stage, unfused, in the layouts of published codes, or in the nearest ones that its
 * variants have: for comparison with a tuned plan. */
CT_EXPORT gboolean ct_pipeline_set_default_layouts(CtPipeline *pipeline, gboolean default_layouts,
                                                   GError **error);
/* FALSE: no stage is attached behind another, on a device or on the host, for comparison. The
 * results are the same. */
CT_EXPORT gboolean ct_pipeline_set_fusion(CtPipeline *pipeline, gboolean fusion, GError **error);
/* The number of consecutive lost samples whose effect the plan's description shows, 1 to
 * CT_PIPELINE_MAX_MISSING; by default one. */
CT_EXPORT gboolean ct_pipeline_set_missing(CtPipeline *pipeline, gint64 n_samples, GError **error);
/* 2⁴⁸: no sum of so many samples and a window overflows. */
#define CT_PIPELINE_MAX_MISSING 281474976710656

/* ---- before the preparation ---- */

/* Fills every block with NaN before it is written, to reveal elements that a stage does not
 * write. */
CT_EXPORT gboolean ct_pipeline_set_poison(CtPipeline *pipeline, gboolean poison, GError **error);

/* ---- the check ---- */

/* Checks all that can be known without planning: stages, parameters, shapes. */
CT_EXPORT gboolean ct_pipeline_check(CtPipeline *pipeline, GError **error);
/* An error if the graph has an `input`: for a program that feeds none. Checks first if
 * necessary. */
CT_EXPORT gboolean ct_pipeline_check_fed(CtPipeline *pipeline, GError **error);
/* An error if the graph has an `output`: for a program that takes from none. Checks first if
 * necessary. */
CT_EXPORT gboolean ct_pipeline_check_taken(CtPipeline *pipeline, GError **error);
/* Whether a node writes its stream to standard output, on which a program should then print nothing
 * else. FALSE before the pipeline is checked. */
CT_EXPORT gboolean ct_pipeline_writes_stdout(const CtPipeline *pipeline);
/* The stream of `output` of `node` (NULL: its first), owned by the pipeline. Checks first if
 * necessary. */
CT_EXPORT const CtStream *ct_pipeline_stream(CtPipeline *pipeline, const char *node,
                                             const char *output, GError **error);
/* What the graph says of itself, `description`, owned by the pipeline; NULL: nothing. */
CT_EXPORT const char *ct_pipeline_description(const CtPipeline *pipeline);
/* What a check has found, as JSON: `description`, `errors`, `warnings`, and `nodes` as
 * ct_pipeline_streams_json() has them. `pipeline` NULL: it could not be loaded. `error` is that of
 * the function that failed; NULL: none has. Allocated. */
CT_EXPORT char *ct_pipeline_check_json(const CtPipeline *pipeline, const GError *error);
/* The nodes with their stages, and the type and axes of each output, for people; allocated. Checks
 * first if necessary. */
CT_EXPORT char *ct_pipeline_streams_text(CtPipeline *pipeline, GError **error);
/* The same as JSON, allocated: `nodes` with name, stage, `inputs` (each with the output that feeds
 * it, "node.port") and `outputs`: for each stream its type, axes, clock, frequencies and
 * observation, in the form of PATH.json, and the layout that its node asks for (null: any). */
CT_EXPORT char *ct_pipeline_streams_json(CtPipeline *pipeline, GError **error);

/* ---- the plan ---- */

/* Chooses variants and layouts. Checks first if necessary. */
CT_EXPORT gboolean ct_pipeline_plan(CtPipeline *pipeline, GError **error);
/* The warnings, one per line: "FILE:LINE:COLUMN: node 'NAME': warning: …". Those of the graph are
 * known after the check, those of the plan after planning, those of the run after its end; they are
 * in this order. Free with g_strfreev. */
CT_EXPORT char **ct_pipeline_warnings(const CtPipeline *pipeline);
/* Describes the plan as "text" or "json", or draws it as "svg" or, for Graphviz, as "dot"; its
 * alternatives and their costs as "explain" or "explain-json"; the stream rates that it could
 * sustain as "capacity" or "capacity-json". Allocated. Plans first if necessary.
 *
 * In the drawing, the node NAME is <g id="node-NAME" class="node …">, the link of an output is
 * <g id="link-NAME"> or, of a further output, <g id="link-NAME.OUTPUT">, so that a page can show
 * more there. All its styles are for what is inside <svg class="cornerturn-plan">. */
CT_EXPORT char *ct_pipeline_describe(CtPipeline *pipeline, const char *format, GError **error);

/* ---- verification ---- */

/* Runs the graph without its sinks, once as planned and once on the backend `against`, and compares
 * the outputs of the nodes: each node separately on the same input, then all together; or only
 * `node` (unless NULL) separately. Returns a report for people, allocated. *agrees: whether all
 * differences are within the bounds of the stages. If nothing can be compared, a warning is added.
 * Waits for the end of the streams, or the set duration. */
CT_EXPORT char *ct_pipeline_verify(CtPipeline *pipeline, const char *against, const char *node,
                                   gboolean *agrees, GError **error);

/* ---- tuning ---- */

typedef struct {
    const char *what;    /* what is being measured; NULL: nothing */
    guint n_measured;    /* candidates that were measured, or failed, so far */
    guint n_kept;        /* … and those that the cost database had already */
    guint n_failed;      /* failures among both */
    guint n_repetitions; /* in this run */
    gdouble elapsed;     /* seconds */
    gdouble left;        /* about the seconds that are left */
} CtTuneProgress;

/* How to tune. The functions are called on the thread that tunes, and must not call functions of
 * the pipeline; either may be NULL. */
typedef struct {
    gdouble budget;    /* seconds after which tuning ends early; 0: no limit */
    gboolean is_quick; /* fewer and shorter repetitions, of fewer candidates: a good plan rather
                          than the best */
    void (*progress)(const CtTuneProgress *progress, gpointer user_data); /* called now and then */
    gboolean (*is_over)(gpointer user_data);                              /* whether to end early */
    gpointer user_data;
} CtTuneControl;

/* Measures the candidates that decide the plan of the graph, until the plan cannot change any more,
 * and keeps each result at once in the cost database (ct_pipeline_set_costs). Plans made later use
 * the results; this pipeline's plan does if it is not made yet. Returns a report for people,
 * allocated. *is_decided: whether all that decides the plan is measured; FALSE: it ended early, and
 * another call goes on from there. Checks first if necessary. */
CT_EXPORT char *ct_pipeline_tune(CtPipeline *pipeline, const CtTuneControl *control,
                                 gboolean *is_decided, GError **error);
/* Runs three plans of the graph in turn, with memory in place of files and network: with default
 * layouts, by the model alone, and by the measured costs. Returns a table of the stages and their
 * times, allocated; NULL with CT_ERROR_CANCELLED if `is_over` ended it. `budget` and `progress` are
 * not used. Checks first if necessary. */
CT_EXPORT char *ct_pipeline_compare(CtPipeline *pipeline, const CtTuneControl *control,
                                    GError **error);

/* ---- running ---- */

/* Prepares all stages and allocates all rings. Plans first if necessary. */
CT_EXPORT gboolean ct_pipeline_prepare(CtPipeline *pipeline, GError **error);
/* Starts the threads, once. Prepares first if necessary. */
CT_EXPORT gboolean ct_pipeline_start(CtPipeline *pipeline, GError **error);
/* Changes a parameter during the run: "node.parameter=value", with the value in YAML. `tick` counts
 * on the clock of the node's output: output samples whose tick is at least `tick` are made with the
 * new value, all others with the old one. Changes of one node add up in the order of their ticks,
 * and of their calls where ticks are equal. The value is checked, files are read and tables are
 * made before the function returns; the run goes on meanwhile. Prepares first if necessary.
 *
 * An error: CT_ERROR_ORDER if the node has already made the output at `tick`, or has ended; the
 * message says how far it is. CT_ERROR_PARAMETER if the parameter cannot change during a run
 * (`cornerturn inspect` shows those that can), or if the new value would change the description of
 * an output, or the samples that an output is made of. Nothing is changed then. */
CT_EXPORT gboolean ct_pipeline_set_at(CtPipeline *pipeline, const char *assignment, gint64 tick,
                                      GError **error);
/* The same from the first output sample that is not made yet. Sets *tick to its tick. */
CT_EXPORT gboolean ct_pipeline_set_now(CtPipeline *pipeline, const char *assignment, gint64 *tick,
                                       GError **error);
/* The same from the first tick that is not before a time in UTC, "2026-11-28T01:30:00.125Z" or Unix
 * seconds. Sets *tick to it. An error also if the stream does not know its UTC. */
CT_EXPORT gboolean ct_pipeline_set_at_time(CtPipeline *pipeline, const char *assignment,
                                           const char *utc, gint64 *tick, GError **error);
/* The parameters that can change now, as a JSON object with a list `parameters`: of each its
 * `node`, `parameter`, `wants` and `about`, its `value` in YAML (null: none is given), the changes
 * that are `pending`, and `next`, the first tick from which it can still change (null: its node has
 * ended), with its `utc` (null: not known). Allocated. After the preparation. */
CT_EXPORT char *ct_pipeline_live_json(CtPipeline *pipeline);
/* The graph as a JSON object: its `name`, its `text` as it was parsed (null: it is not UTF-8), and
 * `settings`, the assignments of ct_pipeline_set. Allocated. */
CT_EXPORT char *ct_pipeline_graph_json(const CtPipeline *pipeline);
/* Ends all sources and inputs now. The samples that they have given still flow to the sinks, which
 * are completed. */
CT_EXPORT void ct_pipeline_interrupt(CtPipeline *pipeline);
/* Ends the run as a failure does, with CT_ERROR_CANCELLED: threads end after what they are doing,
 * calls that wait return, and no sink is completed. Does not wait for that, and does nothing before
 * the preparation or after the end. */
CT_EXPORT void ct_pipeline_stop(CtPipeline *pipeline);
/* Ends the waits for first bytes or packets of inputs, in all pipelines of the process, those to
 * come as well, with CT_ERROR_CANCELLED. A handler of signals may call it. */
CT_EXPORT void ct_interrupt_waits(void);
CT_EXPORT gboolean ct_waits_are_interrupted(void);
/* A number that differs from the one before while the run makes progress, or waits for files, the
 * network or the program. It stays if since then only one block is being worked on: so a program
 * that looks every minute finds a stage that does not return. */
CT_EXPORT guint64 ct_pipeline_pulse(CtPipeline *pipeline);
/* Waits for the end of the run, at most `seconds` (negative: without limit). Returns whether it is
 * over. */
CT_EXPORT gboolean ct_pipeline_wait(CtPipeline *pipeline, gdouble seconds);
/* After the run: TRUE if it succeeded, otherwise FALSE with the first error. */
CT_EXPORT gboolean ct_pipeline_result(CtPipeline *pipeline, GError **error);
/* Whether an interrupt ended a stream before its own end. */
CT_EXPORT gboolean ct_pipeline_is_interrupted(CtPipeline *pipeline);
/* The seconds of stream that the sources have given so far. */
CT_EXPORT gdouble ct_pipeline_stream_seconds(CtPipeline *pipeline);
/* The seconds of stream that they will have given at their end, or at the set duration; 0: not
 * known. */
CT_EXPORT gdouble ct_pipeline_length_seconds(CtPipeline *pipeline);
/* The state of the run (running, complete, interrupted, or failed with an error), its warnings, and
 * per node its time, blocks, samples, bytes, operations, queue and counters; as JSON, allocated. */
CT_EXPORT char *ct_pipeline_stats_json(CtPipeline *pipeline);
/* The same without line feeds. */
CT_EXPORT char *ct_pipeline_stats_line(CtPipeline *pipeline);
/* The same as a table for people, allocated. */
CT_EXPORT char *ct_pipeline_stats_text(CtPipeline *pipeline);
/* "filter 80% sink 5%": the queues that are fullest now, allocated. */
CT_EXPORT char *ct_pipeline_queue_text(CtPipeline *pipeline);
/* "in 0.12%": the shares of the sources' samples that are invalid so far, allocated; empty if none
 * are. */
CT_EXPORT char *ct_pipeline_loss_text(CtPipeline *pipeline);

/* The newest picture of its stream that `node` shows, as a stage `monitor` does: JSON, allocated.
 * Sets *n, unless it is NULL, to the number of pictures until then. NULL without an error: there is
 * none yet. */
CT_EXPORT char *ct_pipeline_picture(CtPipeline *pipeline, const char *node, guint64 *n,
                                    GError **error);

/* ---- blocks in the program's memory ---- */

/* Called when no stage will read the samples again, or when the pipeline is freed: the program may
 * reuse the memory. It runs on a thread of the pipeline and must not call functions of the
 * pipeline. */
typedef void (*CtReleased)(gpointer data, gpointer user_data);

/* Feeds `n_samples` samples (1 or more) to the `input` named `node`, packed, in the layout of its
 * graph entry. They are read in place, and must stay valid until `released` is called (it may be
 * NULL if the program knows otherwise); only samples that a window reads across the end of a block
 * are copied. `validity` is [lane][n_samples], 1 valid, 0 invalid; NULL: all valid. Samples that
 * are invalid are set to zero in place; in a device's memory they must be zero already. Each block
 * continues the one before it without a gap. Waits while CT_PIPELINE_QUEUE blocks are unread. Only
 * one thread may feed a node. */
CT_EXPORT gboolean ct_pipeline_feed(CtPipeline *pipeline, const char *node, gpointer data,
                                    gint64 n_samples, const guint8 *validity, CtReleased released,
                                    gpointer user_data, GError **error);
/* The same for programs that must not wait for long, and want no call on another thread: waits at
 * most `seconds` (negative: without limit). FALSE without an error: the time is up, and nothing is
 * fed. *n_unread is set in any case to the number of fed blocks that would not be released yet: the
 * newest ones, with this one if it is fed. */
CT_EXPORT gboolean ct_pipeline_try_feed(CtPipeline *pipeline, const char *node, gpointer data,
                                        gint64 n_samples, const guint8 *validity, gdouble seconds,
                                        guint *n_unread, GError **error);
/* Ends the stream of an `input`. */
CT_EXPORT gboolean ct_pipeline_feed_end(CtPipeline *pipeline, const char *node, GError **error);

/* The number of blocks that an `input` or an `output` queues. */
#define CT_PIPELINE_QUEUE 4

/* Waits at most `seconds` (negative: without limit) for samples at the `output` named `node`, and
 * describes them in `block`. They are in the ring or, after ct_pipeline_offer, in the program's
 * memory, and stay there until ct_pipeline_give_back. TRUE with n_samples 0: the stream has ended.
 * FALSE with an error: the run has failed. FALSE without an error: the time is up. */
CT_EXPORT gboolean ct_pipeline_take(CtPipeline *pipeline, const char *node, gdouble seconds,
                                    CtBlock *block, GError **error);
/* Gives the last taken block back to the pipeline. */
CT_EXPORT void ct_pipeline_give_back(CtPipeline *pipeline, const char *node);

/* ---- blocks in a device's memory ----
 *
 * If an `input` or an `output` itself has `backend: cuda`, `data` above is an address on that
 * device, and nothing is copied to or from the host. Without ct_pipeline_set_stream, all device
 * work on a block must be complete when the program feeds it or gives it back; it is complete when
 * the program takes a block. `released` is called when the device has read the block. */

/* Sets the CUstream (of the device's primary context) on which the program enqueues its work on
 * `node`, an `input` or `output` on a device; to be called after the preparation. Neither side then
 * waits on the host. The pipeline reads a fed block after the work enqueued on the stream before
 * the feed; the stream continues after a taken block is complete; the pipeline overwrites a block
 * after the work enqueued before it is given back. */
CT_EXPORT gboolean ct_pipeline_set_stream(CtPipeline *pipeline, const char *node, gpointer stream,
                                          GError **error);

/* ---- results in the program's memory ---- */

/* Offers memory of the program for the ring that `node`, an `output`, reads, so that the stage
 * before it writes there; to be called before the preparation. The memory must have
 * ct_pipeline_memory_bytes bytes, be 64-byte aligned, and stay valid until the pipeline is freed.
 * If several outputs read one ring, offer memory once. */
CT_EXPORT gboolean ct_pipeline_offer(CtPipeline *pipeline, const char *node, gpointer memory,
                                     gsize bytes, GError **error);
/* The number of bytes that ct_pipeline_offer wants for `node`; 0 with an error. Plans first if
 * necessary. */
CT_EXPORT gsize ct_pipeline_memory_bytes(CtPipeline *pipeline, const char *node, GError **error);

G_END_DECLS
