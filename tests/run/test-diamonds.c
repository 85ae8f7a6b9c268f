/* SPDX-License-Identifier: BSD-3-Clause */
/* Random graphs with ways that part and meet again, with windows, sums, delays, marks and flags,
 * and with random blocks, caches, workers and places: all must end, with exact sums of integers.
 * CORNERTURN_SEED makes other graphs, CORNERTURN_DIAMONDS more. */
#include "sanitized.h"

#include <cornerturn/pipeline.h>
#include <glib/gstdio.h>
#include <string.h>

/* Seconds after which a graph counts as standing still, even if it does not report this itself. */
#define PATIENCE 600

#define MOST_STREAMS  16
#define MOST_STATIONS 6
/* Single precision has every integer up to this one. */
#define LARGEST (1 << 23)

typedef struct {
    char *name;
    gint64 start, ticks, n, n_stations;
    gint64 *values;   /* [n][n_stations] */
    guint8 *validity; /* [n][n_stations] */
    gboolean loses;   /* stations lose samples separately */
    gboolean is_read;
} Stream;

typedef struct {
    GRand *random;
    const char *folder;
    GString *text;
    Stream streams[MOST_STREAMS];
    guint n;
    gint64 longest; /* the most samples of a stream */
    gint64 least_block;
    gboolean on_devices;
} Graph;

static gint64
pick(const Graph *graph, gint64 least, gint64 most)
{
    return g_rand_int_range(graph->random, (gint32)least, (gint32)most + 1);
}

static gint64
choose(const Graph *graph, const gint64 *of, guint n)
{
    return of[pick(graph, 0, n - 1)];
}
#define CHOOSE(graph, ...)                                                                         \
    choose(graph, (const gint64[]){__VA_ARGS__}, G_N_ELEMENTS(((const gint64[]){__VA_ARGS__})))

static void
stream_clear(Stream *stream)
{
    g_free(stream->name);
    g_free(stream->values);
    g_free(stream->validity);
    *stream = (Stream){0};
}

/* A stream that may become an output of the graph. */
static Stream
stream_new(const Graph *graph, const char *what, gint64 start, gint64 ticks, gint64 n,
           gint64 n_stations)
{
    const gsize length = (gsize)(MAX(n, 1) * n_stations);
    Stream stream = {
        .name = g_strdup_printf("%s%u", what, graph->n),
        .start = start,
        .ticks = ticks,
        .n = n,
        .n_stations = n_stations,
        .values = g_new0(gint64, length),
        .validity = g_malloc(length),
    };
    memset(stream.validity, 1, length);
    return stream;
}

/* Adds the stream to the graph, unless it is empty or has too large values; sets invalid samples to
 * zero. `format` is the rest of its node's entry. */
static gboolean take(Graph *graph, Stream *stream, const char *format, ...) G_GNUC_PRINTF(3, 4);

static gboolean
take(Graph *graph, Stream *stream, const char *format, ...)
{
    gboolean good = stream->n > 0;
    for (gint64 i = 0; i < stream->n * stream->n_stations; i++) {
        good &= ABS(stream->values[i]) < LARGEST;
        stream->values[i] *= stream->validity[i];
    }
    if (!good) {
        stream_clear(stream);
        return FALSE;
    }
    va_list arguments;
    va_start(arguments, format);
    g_string_append_printf(graph->text, "  %s: {", stream->name);
    g_string_append_vprintf(graph->text, format, arguments);
    va_end(arguments);
    if (graph->on_devices && strstr(format, "diamond") == NULL)
        g_string_append_printf(
            graph->text, ", backend: %s",
            ((const char *const[]){"cpu", "cuda:0", "cuda:0", "cuda:1"})[pick(graph, 0, 3)]);
    else if (strstr(format, "diamond") == NULL && pick(graph, 0, 3) == 0)
        g_string_append(graph->text, ", backend: reference");
    g_string_append(graph->text, "}\n");
    graph->streams[graph->n++] = *stream;
    return TRUE;
}

/* ---- sources ---- */

static void
add_source(Graph *graph)
{
    Stream stream =
        stream_new(graph, "source", CHOOSE(graph, 0, 0, 60, 1000, 7777), CHOOSE(graph, 1, 1, 1, 2),
                   pick(graph, 1, graph->longest), pick(graph, 1, 2));
    const gsize length = (gsize)(stream.n * stream.n_stations);
    g_autofree gfloat *numbers = g_new(gfloat, length);
    for (gsize i = 0; i < length; i++) {
        stream.values[i] = pick(graph, -3, 3);
        numbers[i] = (gfloat)stream.values[i];
    }
    g_autofree char *path = g_strdup_printf("%s/%s.raw", graph->folder, stream.name);
    g_assert_true(
        g_file_set_contents(path, (const char *)numbers, (gssize)(length * sizeof(gfloat)), NULL));
    g_autofree char *block = g_strdup("");
    if (pick(graph, 0, 1)) {
        const gint64 samples = CHOOSE(graph, 1, 7, 64, 1000, 5000);
        g_free(block);
        block = g_strdup_printf(", block: {time: %d}", (int)MAX(graph->least_block, samples));
    }
    g_string_append_printf(graph->text,
                           "  %s: {stage: file.source, path: '%s', layout: 'f32[time station]', "
                           "shape: [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
                           "], sample_rate: %d Hz, ticks_per_sample: %" G_GINT64_FORMAT
                           ", start: %" G_GINT64_FORMAT "%s}\n",
                           stream.name, path, stream.n, stream.n_stations,
                           (int)(1000000 / stream.ticks), stream.ticks, stream.start, block);
    graph->streams[graph->n++] = stream;
}

/* ---- one input ---- */

/* Fills in the windows of `x`, plus twice those of `y` (NULL: there is none), each from its first
 * sample on. */
static void
fill_windows(Stream *out, const Stream *x, gint64 x_first, const Stream *y, gint64 y_first,
             gint64 window, gint64 hop)
{
    for (gint64 t = 0; t < out->n; t++)
        for (gint64 s = 0; s < out->n_stations; s++) {
            const gint64 i = t * out->n_stations + s;
            for (gint64 k = 0; k < window; k++) {
                const gint64 of_x = (x_first + t * hop + k) * x->n_stations + s;
                out->values[i] += (k % 3 - 1) * x->values[of_x];
                out->validity[i] &= x->validity[of_x];
                if (!y)
                    continue;
                const gint64 of_y = (y_first + t * hop + k) * y->n_stations + s;
                out->values[i] += 2 * (k % 3 - 1) * y->values[of_y];
                out->validity[i] &= y->validity[of_y];
            }
        }
}

static gint64
windows_in(gint64 n, gint64 window, gint64 hop)
{
    return n < window ? 0 : (n - window) / hop + 1;
}

static gboolean
add_window(Graph *graph, const Stream *in)
{
    const gint64 window = CHOOSE(graph, 1, 2, 3, 16, 100, MIN(700, in->n));
    const gint64 hop = CHOOSE(graph, 1, 1, 1, 2, 5, window, window + 3);
    const gint64 offset = CHOOSE(graph, 0, 0, 0, window / 2, -5);
    Stream out = stream_new(graph, "window", in->start + offset * in->ticks, in->ticks * hop,
                            windows_in(in->n, window, hop), in->n_stations);
    out.loses = in->loses;
    fill_windows(&out, in, 0, NULL, 0, window, hop);
    return take(graph, &out, "stage: diamond.window, from: %s, window: %d, hop: %d, offset: %d",
                in->name, (int)window, (int)hop, (int)offset);
}

static gboolean
add_sum(Graph *graph, const Stream *in)
{
    const gint64 length = CHOOSE(graph, 1, 2, 3, 16, 37, 200);
    Stream out = stream_new(graph, "sum", in->start, in->ticks * length,
                            (in->n + length - 1) / length, in->n_stations);
    out.loses = in->loses;
    memset(out.validity, 0, (gsize)(out.n * out.n_stations));
    for (gint64 t = 0; t < in->n; t++)
        for (gint64 s = 0; s < in->n_stations; s++) {
            const gint64 i = t / length * in->n_stations + s;
            out.values[i] += in->values[t * in->n_stations + s];
            out.validity[i] |= in->validity[t * in->n_stations + s];
        }
    return take(graph, &out, "stage: integrate, from: %s, length: %d", in->name, (int)length);
}

static gboolean
add_delay(Graph *graph, const Stream *in)
{
    gint64 delays[MOST_STATIONS], least = G_MAXINT64, most = G_MININT64;
    g_autoptr(GString) list = g_string_new(NULL);
    const gint64 all = pick(graph, -in->n / 2, in->n / 2);
    for (gint64 s = 0; s < in->n_stations; s++) {
        delays[s] = pick(graph, 0, 1) ? all : all + pick(graph, -in->n / 4, in->n / 4);
        least = MIN(least, delays[s]);
        most = MAX(most, delays[s]);
        g_string_append_printf(list, "%s%" G_GINT64_FORMAT " us", s ? ", " : "",
                               delays[s] * in->ticks);
    }
    Stream out = stream_new(graph, "delay", in->start + most * in->ticks, in->ticks,
                            MAX(0, in->n - (most - least)), in->n_stations);
    out.loses = in->loses;
    for (gint64 t = 0; t < out.n; t++)
        for (gint64 s = 0; s < in->n_stations; s++) {
            const gint64 from = (t + most - delays[s]) * in->n_stations + s;
            out.values[t * in->n_stations + s] = in->values[from];
            out.validity[t * in->n_stations + s] = in->validity[from];
        }
    return take(graph, &out, "stage: delay, from: %s, constant: [%s]", in->name, list->str);
}

static gboolean
add_turn(Graph *graph, const Stream *in)
{
    static const char *const how[] = {"transpose, layout: '[station time]'",
                                      "transpose, layout: '[time station]'", "copy"};
    Stream out = stream_new(graph, "turn", in->start, in->ticks, in->n, in->n_stations);
    out.loses = in->loses;
    memcpy(out.values, in->values, (gsize)(in->n * in->n_stations) * sizeof *in->values);
    memcpy(out.validity, in->validity, (gsize)(in->n * in->n_stations));
    return take(graph, &out, "from: %s, stage: %s", in->name, how[pick(graph, 0, 2)]);
}

/* Marks samples of much power. */
static gboolean
add_mark(Graph *graph, const Stream *in)
{
    const gint64 largest = CHOOSE(graph, 0, 3, 50, 1000);
    Stream out = stream_new(graph, "mark", in->start, in->ticks, in->n, in->n_stations);
    out.loses = TRUE;
    for (gint64 i = 0; i < in->n * in->n_stations; i++) {
        const gboolean is_marked = ABS(in->values[i]) > largest;
        out.values[i] = is_marked ? 0 : in->values[i];
        out.validity[i] = !is_marked && in->validity[i];
    }
    return take(graph, &out, "stage: mark, from: %s, limit: %d, along: [station]", in->name,
                (int)(largest * largest));
}

/* ---- two inputs ---- */

static gboolean
add_stack(Graph *graph, const Stream *a, const Stream *b)
{
    const Stream *const inputs[] = {a, b};
    if (a->ticks != b->ticks || (a->start - b->start) % a->ticks != 0 ||
        a->n_stations + b->n_stations > MOST_STATIONS)
        return FALSE;
    const gint64 start = MIN(a->start, b->start);
    const gint64 end = MAX(a->start + a->n * a->ticks, b->start + b->n * b->ticks);
    Stream out = stream_new(graph, "stack", start, a->ticks, (end - start) / a->ticks,
                            a->n_stations + b->n_stations);
    out.loses = TRUE;
    for (gint64 t = 0; t < out.n; t++)
        for (guint i = 0, s = 0; i < 2; i++) {
            const gint64 from = t - (inputs[i]->start - start) / a->ticks;
            const gboolean is_there = from >= 0 && from < inputs[i]->n;
            for (gint64 k = 0; k < inputs[i]->n_stations; k++, s++) {
                const gint64 of = from * inputs[i]->n_stations + k;
                out.values[t * out.n_stations + s] = is_there ? inputs[i]->values[of] : 0;
                out.validity[t * out.n_stations + s] = is_there ? inputs[i]->validity[of] : 0;
            }
        }
    return take(graph, &out, "stage: stack, from: [%s, %s], axis: station", a->name, b->name);
}

static gboolean
add_pair(Graph *graph, const Stream *a, const Stream *b)
{
    if (a->ticks != b->ticks || (a->start - b->start) % a->ticks != 0 ||
        a->n_stations != b->n_stations)
        return FALSE;
    const gint64 start = MAX(a->start, b->start);
    const gint64 end = MIN(a->start + a->n * a->ticks, b->start + b->n * b->ticks);
    const gint64 window = CHOOSE(graph, 1, 2, 10), hop = CHOOSE(graph, 1, 1, 3);
    Stream out = stream_new(graph, "pair", start, a->ticks * hop,
                            windows_in(MAX(0, end - start) / a->ticks, window, hop), a->n_stations);
    out.loses = a->loses || b->loses;
    fill_windows(&out, a, (start - a->start) / a->ticks, b, (start - b->start) / b->ticks, window,
                 hop);
    return take(graph, &out, "stage: diamond.pair, from: {in: %s, other: %s}, window: %d, hop: %d",
                a->name, b->name, (int)window, (int)hop);
}

/* The sample of `in` at a tick. */
static gint64
sample_at(const Stream *in, gint64 tick)
{
    const gint64 since = tick - in->start;
    return since < 0 ? 0 : MIN(since / in->ticks, in->n - 1);
}

static void
fill_sums(Stream *out, const Stream *a, const Stream *b, gint64 factor, gboolean is_held)
{
    for (gint64 t = 0; t < out->n; t++)
        for (gint64 s = 0; s < out->n_stations; s++) {
            const gint64 tick = out->start + t * out->ticks, i = t * out->n_stations + s;
            const gint64 of_a = sample_at(a, tick) * a->n_stations + s;
            const gint64 of_b = sample_at(b, tick) * b->n_stations + s;
            out->values[i] = a->values[of_a] + factor * b->values[of_b];
            out->validity[i] = a->validity[of_a] & (is_held | b->validity[of_b]);
        }
}

static gboolean
add_join(Graph *graph, const Stream *a, const Stream *b)
{
    if (a->n_stations != b->n_stations)
        return FALSE;
    const gint64 late = MAX(0, b->start - a->start);
    const gint64 start = a->start + (late + a->ticks - 1) / a->ticks * a->ticks;
    const gint64 end = MIN(a->start + a->n * a->ticks, b->start + b->n * b->ticks - 1 + a->ticks);
    Stream out =
        stream_new(graph, "join", start, a->ticks, MAX(0, end - start) / a->ticks, a->n_stations);
    out.loses = a->loses || b->loses;
    fill_sums(&out, a, b, 3, FALSE);
    return take(graph, &out, "stage: diamond.join, from: {in: %s, other: %s}", a->name, b->name);
}

static gboolean
add_held(Graph *graph, const Stream *a, const Stream *b)
{
    if (a->n_stations != b->n_stations)
        return FALSE;
    Stream out = stream_new(graph, "held", a->start, a->ticks, a->n, a->n_stations);
    out.loses = a->loses || b->loses;
    fill_sums(&out, a, b, 5, TRUE);
    return take(graph, &out, "stage: diamond.held, from: {in: %s, held: %s}", a->name, b->name);
}

static gboolean
add_array(Graph *graph, const Stream *a, const Stream *b)
{
    if (a->n_stations != b->n_stations)
        return FALSE;
    const gint64 window = CHOOSE(graph, 1, 1, 3, 20), hop = CHOOSE(graph, 1, 1, 2, window);
    const gint64 offset = CHOOSE(graph, 0, 0, window / 2, -5);
    Stream out = stream_new(graph, "array", a->start + offset * a->ticks, a->ticks * hop,
                            windows_in(a->n, window, hop), a->n_stations);
    out.loses = a->loses || b->loses;
    fill_windows(&out, a, 0, NULL, 0, window, hop);
    for (gint64 t = 0; t < out.n; t++)
        for (gint64 s = 0; s < out.n_stations; s++)
            out.values[t * out.n_stations + s] +=
                5 * b->values[sample_at(b, out.start + t * out.ticks) * b->n_stations + s];
    return take(graph, &out,
                "stage: diamond.array, from: {in: %s, array: %s}, window: %d, hop: %d, offset: %d",
                a->name, b->name, (int)window, (int)hop, (int)offset);
}

/* Samples whose statistic, which holds from its tick on, is not within limits are invalid. */
static gboolean
add_flag(Graph *graph, const Stream *a, const Stream *b)
{
    if (a->n_stations != b->n_stations || b->ticks < a->ticks)
        return FALSE;
    const gint64 limit = CHOOSE(graph, 0, 5, 100);
    Stream out = stream_new(graph, "flag", a->start, a->ticks, a->n, a->n_stations);
    out.loses = TRUE;
    for (gint64 t = 0; t < out.n; t++)
        for (gint64 s = 0; s < out.n_stations; s++) {
            const gint64 i = t * out.n_stations + s, tick = a->start + t * a->ticks;
            const gint64 of = sample_at(b, tick) * b->n_stations + s;
            out.values[i] = a->values[i];
            out.validity[i] = a->validity[i] && b->validity[of] && ABS(b->values[of]) <= limit &&
                              tick >= b->start && tick < b->start + b->n * b->ticks;
        }
    return take(graph, &out, "stage: flag, from: {in: %s, statistic: %s}, lower: %d, upper: %d",
                a->name, b->name, (int)-limit, (int)limit);
}

/* ---- graphs ---- */

static void
add_some(Graph *graph)
{
    static gboolean (*const ones[])(Graph *, const Stream *) = {
        add_window, add_window, add_sum, add_delay, add_delay, add_turn, add_mark,
    };
    static gboolean (*const twos[])(Graph *, const Stream *, const Stream *) = {
        add_stack, add_stack, add_pair, add_join, add_held, add_array, add_flag, add_flag,
    };
    const guint a = (guint)pick(graph, 0, graph->n - 1), b = (guint)pick(graph, 0, graph->n - 1);
    if (pick(graph, 0, 1)) {
        if (ones[pick(graph, 0, G_N_ELEMENTS(ones) - 1)](graph, &graph->streams[a]))
            graph->streams[a].is_read = TRUE;
        return;
    }
    for (guint k = 0; k < G_N_ELEMENTS(twos) && a != b; k++) {
        if (twos[pick(graph, 0, G_N_ELEMENTS(twos) - 1)](graph, &graph->streams[a],
                                                         &graph->streams[b])) {
            graph->streams[a].is_read = graph->streams[b].is_read = TRUE;
            return;
        }
    }
}

static void
graph_init(Graph *graph, guint32 seed, const char *folder, gboolean on_devices)
{
    *graph = (Graph){
        .random = g_rand_new_with_seed(seed),
        .folder = folder,
        .text = g_string_new("stages:\n"),
        .on_devices = on_devices,
    };
    /* Firings on an emulated device take long. */
    graph->longest = CHOOSE(graph, 100, 2000, 2000, 10000);
    if (on_devices)
        graph->longest = MIN(graph->longest, 1000);
    graph->least_block = on_devices ? 7 : 1;
    const guint n_sources = (guint)CHOOSE(graph, 1, 1, 2, 3);
    const guint n_streams = n_sources + (guint)pick(graph, 2, MOST_STREAMS - 4);
    for (guint i = 0; i < n_sources; i++)
        add_source(graph);
    for (guint tries = 0; graph->n < n_streams && tries < 200; tries++)
        add_some(graph);
    for (guint i = 0; i < graph->n; i++)
        if (!graph->streams[i].is_read || pick(graph, 0, 5) == 0)
            g_string_append_printf(
                graph->text, "  o%s: {stage: diamond.sink, from: %s, path: '%s/%s.out'}\n",
                graph->streams[i].name, graph->streams[i].name, folder, graph->streams[i].name);
}

static void
graph_clear(Graph *graph)
{
    for (guint i = 0; i < graph->n; i++)
        stream_clear(&graph->streams[i]);
    g_string_free(graph->text, TRUE);
    g_rand_free(graph->random);
}

/* Compares the file of the stream's sink, if it has one. */
static void
check_stream(const Graph *graph, const Stream *stream, guint32 seed)
{
    g_autofree char *path = g_strdup_printf("%s/%s.out", graph->folder, stream->name);
    g_autofree char *bytes = NULL;
    gsize length;
    if (!g_file_get_contents(path, &bytes, &length, NULL))
        return;
    g_unlink(path);
    const gsize n = (gsize)(stream->n * stream->n_stations);
    const gfloat *given = (const gfloat *)(gpointer)bytes;
    if (length != n * sizeof(gfloat))
        g_error("seed %u: '%s' has %" G_GSIZE_FORMAT " values, not %" G_GSIZE_FORMAT "\n%s", seed,
                stream->name, length / sizeof(gfloat), n, graph->text->str);
    for (gsize i = 0; i < n; i++)
        if ((gint64)given[i] != stream->values[i])
            g_error("seed %u: '%s' is %g at %" G_GSIZE_FORMAT ", not %" G_GINT64_FORMAT "\n%s",
                    seed, stream->name, given[i], i, stream->values[i], graph->text->str);
}

static CtPipeline *
pipeline_of(const Graph *graph, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    CtPipeline *pipeline = ct_pipeline_parse(graph->text->str, -1, "diamond.yaml", &error);
    if (!pipeline)
        g_error("seed %u: %s\n%s", seed, error->message, graph->text->str);
    const guint n_workers = (guint)CHOOSE(graph, 1, 2, 3);
    /* Firings of one sample each take their time. */
    const gsize cache = graph->longest > 2000 ? (gsize)CHOOSE(graph, 0, 1000, 65536)
                                              : (gsize)CHOOSE(graph, 1, 1, 64, 1000, 0);
    if (!ct_pipeline_set_costs(pipeline, "off", &error) ||
        !ct_pipeline_set_poison(pipeline, TRUE, &error) ||
        !ct_pipeline_set_workers(pipeline, n_workers, &error) ||
        !ct_pipeline_set_cache(pipeline, cache, &error) ||
        !ct_pipeline_set_device_block(pipeline, (gsize)CHOOSE(graph, 128, 512, 4096, 65536),
                                      &error) ||
        !ct_pipeline_set_in_flight(pipeline, (guint)CHOOSE(graph, 1, 2, 3, 5), &error) ||
        !ct_pipeline_set_default_layouts(pipeline, pick(graph, 0, 3) == 0, &error))
        g_error("seed %u: %s", seed, error->message);
    return pipeline;
}

static void
run(const Graph *graph, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = pipeline_of(graph, seed);
    if (!ct_pipeline_start(pipeline, &error))
        g_error("seed %u: %s\n%s", seed, error->message, graph->text->str);
    if (!ct_pipeline_wait(pipeline, PATIENCE))
        g_error("seed %u: it does not end\n%s", seed, graph->text->str);
    if (!ct_pipeline_result(pipeline, &error)) {
        g_autofree char *plan = ct_pipeline_describe(pipeline, "text", NULL);
        g_error("seed %u: %s\n%s\n%s", seed, error->message, graph->text->str, plan);
    }
}

static guint32
number_from(const char *name, guint32 otherwise)
{
    const char *text = g_getenv(name);
    return text ? (guint32)g_ascii_strtoull(text, NULL, 10) : otherwise;
}

static void
test_random(void)
{
    const gboolean on_devices = g_getenv("CORNERTURN_TEST_BACKEND") != NULL;
    const guint32 first = number_from("CORNERTURN_SEED", g_random_int());
    const guint32 n =
        number_from("CORNERTURN_DIAMONDS", (on_devices ? 20 : 250) / (is_sanitized(NULL) ? 5 : 1));
    g_autofree char *folder = g_dir_make_tmp("cornerturn-XXXXXX", NULL);
    g_test_message("seed %u, %u graphs", first, n);
    for (guint32 seed = first; seed != first + n; seed++) {
        Graph graph;
        graph_init(&graph, seed, folder, on_devices);
        run(&graph, seed);
        for (guint i = 0; i < graph.n; i++) {
            check_stream(&graph, &graph.streams[i], seed);
            g_autofree char *path = g_strdup_printf("%s/%s.raw", folder, graph.streams[i].name);
            g_unlink(path);
        }
        graph_clear(&graph);
    }
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_setenv("CORNERTURN_EMULATOR_DEVICES", "2", TRUE);
    g_setenv("CORNERTURN_EMULATOR_JITTER", "300", FALSE);
    const char *plugins = g_getenv("CORNERTURN_TEST_PLUGINS");
    g_autofree char *path = g_strdup_printf("%s:%s/diamond:%s/mark",
                                            g_getenv("CORNERTURN_PLUGIN_PATH"), plugins, plugins);
    g_setenv("CORNERTURN_PLUGIN_PATH", path, TRUE);
    g_test_add_func("/diamonds/random", test_random);
    return g_test_run();
}
