/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn send`: sends captures of packets, or what the sinks of a graph make, to the
 * network. */
#include "command-graph.h"
#include "command.h"

#include <cornerturn/send.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The value of a number that is not given. */
#define LEFT_OUT (-1.0)

/* The interval, in microseconds, between two lines of progress. */
enum { SHOW_EVERY = 100000 };

typedef struct {
    char **addresses, **set;
    char *stage, *rate, *jitter, *duration, *log, *log_packets, *stats, *seed;
    gdouble speed, loss, duplicate, reorder;
    int reorder_by, repeat, ttl;
    gboolean no_loop, quiet;
} Given;

static void
given_clear(Given *given)
{
    char *const texts[] = {given->stage, given->rate,        given->jitter, given->duration,
                           given->log,   given->log_packets, given->stats,  given->seed};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_strfreev(given->addresses);
    g_strfreev(given->set);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Given, given_clear)

/* The captures or the graph that are being sent, and the files of the account. */
typedef struct {
    CtSend how;
    CtSendCount *counts; /* [n_addresses] of captures */
    guint n_addresses;
    CtPipeline *pipeline; /* NULL: captures */
    CtGraphOptions graph;
    const char *format;
    gboolean quiet;
    FILE *log;     /* for the account; NULL: none */
    FILE *packets; /* NULL: none are logged */
    gboolean shows;
    gint64 shown;
} Job;

G_GNUC_PRINTF(2, 3)
static gboolean
refuse(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, message);
    return FALSE;
}

/* ---- options ---- */

static gboolean
check_numbers(const Given *given, GError **error)
{
    const struct {
        const char *option;
        gdouble value, most;
    } shares[] = {{"--loss", given->loss, 1},
                  {"--duplicate", given->duplicate, 1},
                  {"--reorder", given->reorder, 1},
                  {"--ttl", given->ttl, 255}};
    for (guint i = 0; i < G_N_ELEMENTS(shares); i++)
        if (shares[i].value != LEFT_OUT &&
            !(shares[i].value >= 0 && shares[i].value <= shares[i].most))
            return refuse(error, "%s wants 0 to %g, but is given %g", shares[i].option,
                          shares[i].most, shares[i].value);
    if (given->speed != LEFT_OUT && !(given->speed > 0 && given->speed <= 1e9))
        return refuse(error, "--speed wants more than 0, and at most 1e9, but is given %g",
                      given->speed);
    if (given->reorder_by < 1)
        return refuse(error, "--reorder-by wants at least 1, but is given %d", given->reorder_by);
    return given->repeat >= 0 ||
           refuse(error, "--repeat wants 0 or more, but is given %d", given->repeat);
}

/* Packets a second, which may be infinite. */
static gboolean
read_rate(const Given *given, gdouble *rate, GError **error)
{
    char *end;
    *rate = 0;
    if (!given->rate)
        return TRUE;
    if (given->speed != LEFT_OUT)
        return refuse(error, "wants one of --speed and --rate, but is given both");
    const gboolean is_most = g_str_equal(given->rate, "max");
    *rate = is_most ? HUGE_VAL : g_ascii_strtod(given->rate, &end);
    return is_most || (*end == '\0' && *rate > 0 && *rate <= 1e9) ||
           refuse(error, "--rate wants packets a second, as 1e5, or max, but is given '%s'",
                  given->rate);
}

static gboolean
read_seed(const Given *given, guint32 *seed, GError **error)
{
    guint64 number = g_random_int();
    if (given->seed && !g_ascii_string_to_unsigned(given->seed, 10, 0, G_MAXUINT32, &number, NULL))
        return refuse(error, "--seed wants a number from 0 to %u, but is given '%s'", G_MAXUINT32,
                      given->seed);
    *seed = (guint32)number;
    return TRUE;
}

static gboolean
read_how(const Given *given, CtSend *how, GError **error)
{
    *how = (CtSend){
        .addresses = (const char *const *)given->addresses,
        .stage = given->stage,
        .settings = (const char *const *)given->set,
        .speed = given->speed == LEFT_OUT ? 1 : given->speed,
        .n_passes = (guint64)given->repeat,
        .ttl = given->ttl == (int)LEFT_OUT ? 1 : given->ttl,
        .loops = !given->no_loop,
        .loss = MAX(given->loss, 0),
        .duplicate = MAX(given->duplicate, 0),
        .reorder = MAX(given->reorder, 0),
        .reorder_by = (guint)given->reorder_by,
    };
    if (!given->addresses)
        return refuse(error, "wants --to udp://ADDRESS:PORT");
    if (!check_numbers(given, error) || !read_rate(given, &how->rate, error) ||
        !read_seed(given, &how->seed, error))
        return FALSE;
    if (given->jitter && !ct_graph_read_time("--jitter", given->jitter, &how->jitter, error))
        return FALSE;
    return !(how->jitter > 0 && how->rate == HUGE_VAL) ||
           refuse(error, "wants one of --jitter and --rate max, but is given both");
}

/* ---- sending ---- */

static void
show_progress(Job *job)
{
    const gint64 now = g_get_monotonic_time();
    guint64 sent = 0;
    if (now - job->shown < SHOW_EVERY)
        return;
    job->shown = now;
    for (guint i = 0; i < job->n_addresses; i++)
        sent += job->counts[i].sent;
    g_printerr("\r\033[K%" G_GUINT64_FORMAT " datagrams sent", sent);
}

static gboolean
is_over(gpointer data)
{
    Job *job = data;
    if (job->shows)
        show_progress(job);
    if (ct_command_take_request()) {
        g_autofree char *text = ct_send_describe(&job->how, job->counts, "text", NULL, NULL);
        g_printerr("%s%s", job->shows ? "\r\033[K" : "", text);
    }
    return ct_command_interrupt() != 0;
}

/* Writes a line of JSON. */
static void
log_packet(const CtSendPacket *packet, gpointer data)
{
    static const char *const fates[] = {
        [CT_SEND_SENT] = "sent", [CT_SEND_AGAIN] = "duplicate", [CT_SEND_LOST] = "lost"};
    fprintf(((Job *)data)->packets,
            "{\"address\": %u, \"packet\": %" G_GUINT64_FORMAT
            ", \"file\": %u, \"offset\": %" G_GINT64_FORMAT ", \"bytes\": %" G_GSIZE_FORMAT
            ", \"fate\": \"%s\"}\n",
            packet->address, packet->packet, packet->file, packet->offset, packet->bytes,
            fates[packet->fate]);
}

static FILE *
open_log(const char *path, GError **error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: can't be opened: %s", path,
                    g_strerror(errno));
    return file;
}

/* An earlier error is kept. */
static gboolean
close_log(FILE *file, const char *path, gboolean good, GError **error)
{
    const gboolean failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed)
        return good;
    if (good)
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: can't be written", path);
    return FALSE;
}

/* The report of captures, or of the sinks of a graph; allocated. */
static char *
describe(const Job *job, const char *format, const char *state, const char *message)
{
    return job->pipeline ? ct_pipeline_describe_sent(job->pipeline, format, state, message)
                         : ct_send_describe(&job->how, job->counts, format, state, message);
}

static gboolean
send_captures(Job *job, GError **error)
{
    const gboolean is_sent = ct_send(&job->how, job->counts, error);
    if (job->shows)
        g_printerr("\r\033[K");
    if (!is_sent || !ct_command_interrupt())
        return is_sent;
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED, "interrupted by %s",
                ct_command_signal_name(ct_command_interrupt()));
    return FALSE;
}

/* Prints the report, or as JSON that of the run alone, for there is one text of JSON. */
static void
print_report(const Job *job, const char *state, const char *message)
{
    const gboolean is_left_out = job->pipeline && g_str_equal(job->format, "json");
    if (is_left_out || g_str_equal(job->format, "none"))
        return;
    g_autofree char *text = describe(job, job->format, state, message);
    (job->pipeline && ct_pipeline_writes_stdout(job->pipeline) ? g_printerr : g_print)("%s", text);
}

/* Sends, and completes the report. */
static gboolean
send_all(Job *job, GError **error)
{
    GError *failure = NULL;
    if (job->pipeline)
        ct_graph_run(&job->graph, job->pipeline,
                     &(CtGraphRun){.format = job->format, .quiet = job->quiet}, &failure);
    else
        send_captures(job, &failure);
    const char *state = !failure                                                 ? "complete"
                        : g_error_matches(failure, CT_ERROR, CT_ERROR_CANCELLED) ? "interrupted"
                                                                                 : "failed";
    const char *message = failure ? failure->message : NULL;
    g_autofree char *json = describe(job, "json", state, message);
    print_report(job, state, message);
    if (job->log)
        fputs(json, job->log);
    if (!failure)
        return TRUE;
    g_propagate_error(error, failure);
    return FALSE;
}

/* The same, with the files of the account. */
static gboolean
send_logged(const Given *given, Job *job, GError **error)
{
    if (given->log && !(job->log = open_log(given->log, error)))
        return FALSE;
    if (given->log_packets && !(job->packets = open_log(given->log_packets, error))) {
        if (job->log)
            fclose(job->log);
        return FALSE;
    }
    gboolean good = send_all(job, error);
    if (job->packets)
        good = close_log(job->packets, given->log_packets, good, error);
    return job->log ? close_log(job->log, given->log, good, error) : good;
}

static gboolean
send_files(const Given *given, Job *job, char **files, GError **error)
{
    const guint n = g_strv_length(given->addresses);
    g_autofree CtSendCount *counts = g_new0(CtSendCount, n);
    job->how.files = (const char *const *)files;
    job->how.is_over = is_over;
    job->shows = !given->quiet && isatty(STDERR_FILENO);
    job->counts = counts;
    job->n_addresses = n;
    if (given->duration)
        return refuse(error, "--duration wants a graph, but is given '%s'", files[0]);
    return send_logged(given, job, error);
}

/* ---- graphs ---- */

/* A sink sends without waiting what is left when the run has been interrupted. */
static gboolean
is_interrupted(G_GNUC_UNUSED gpointer data)
{
    return ct_command_interrupt() != 0;
}

/* The option that only captures have; NULL: none is given. */
static const char *
find_of_captures(const Given *given, const Job *job)
{
    const struct {
        const char *option;
        gboolean is_given;
    } options[] = {
        {"--stage", given->stage != NULL},
        {"--rate", job->how.rate > 0 && job->how.rate < HUGE_VAL},
        {"--repeat", given->repeat != 1},
    };
    for (guint i = 0; i < G_N_ELEMENTS(options); i++)
        if (options[i].is_given)
            return options[i].option;
    return NULL;
}

static gboolean
send_graph(const Given *given, Job *job, const char *file, GError **error)
{
    const char *option = find_of_captures(given, job);
    job->graph.file = file;
    job->how.is_over = is_interrupted;
    if (option)
        return refuse(
            error,
            "%s wants a file of packets, but is given the graph %s: have its sink write a "
            "file, and send that",
            option, file);
    if (given->duration &&
        !ct_graph_read_time("--duration", given->duration, &job->graph.duration, error))
        return FALSE;
    g_autoptr(CtPipeline) pipeline =
        ct_pipeline_load_with(file, (const char *const *)given->set, error);
    job->pipeline = pipeline;
    return pipeline && ct_pipeline_set_duration(pipeline, job->graph.duration, error) &&
           ct_pipeline_send(pipeline, &job->how, error) && send_logged(given, job, error);
}

static gboolean
is_graph(const char *file)
{
    return g_str_has_suffix(file, ".yaml") || g_str_has_suffix(file, ".yml");
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_auto(Given) given = {.speed = LEFT_OUT,
                           .loss = LEFT_OUT,
                           .duplicate = LEFT_OUT,
                           .reorder = LEFT_OUT,
                           .reorder_by = 8,
                           .repeat = 1,
                           .ttl = (int)LEFT_OUT};
    const GOptionEntry entries[] = {
        {"to", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.addresses,
         "Send to this address: one for all, or one for each file or sink", "udp://ADDRESS:PORT"},
        {"stage", 0, 0, G_OPTION_ARG_STRING, &given.stage,
         "The source that reads the files (default: by the end of their name)", "STAGE"},
        {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.set,
         "Set a parameter of that source, or of a node of the graph", "[NODE.]PARAMETER=VALUE"},
        {"speed", 0, 0, G_OPTION_ARG_DOUBLE, &given.speed,
         "Send so many times as fast as the time stamps say (default: 1)", "FACTOR"},
        {"rate", 0, 0, G_OPTION_ARG_STRING, &given.rate,
         "Send so many packets a second, to all addresses together; max: as fast as possible",
         "NUMBER"},
        {"repeat", 0, 0, G_OPTION_ARG_INT, &given.repeat,
         "Send the files so many times; 0: until an interrupt (default: 1)", "N"},
        {"loss", 0, 0, G_OPTION_ARG_DOUBLE, &given.loss, "Leave out packets, with this probability",
         "P"},
        {"duplicate", 0, 0, G_OPTION_ARG_DOUBLE, &given.duplicate,
         "Send packets twice, with this probability", "P"},
        {"reorder", 0, 0, G_OPTION_ARG_DOUBLE, &given.reorder,
         "Delay packets behind later ones, with this probability", "P"},
        {"reorder-by", 0, 0, G_OPTION_ARG_INT, &given.reorder_by,
         "Delay these behind 1 to so many packets (default: 8)", "N"},
        {"jitter", 0, 0, G_OPTION_ARG_STRING, &given.jitter,
         "Delay each packet by a random time up to this one", "TIME"},
        {"seed", 0, 0, G_OPTION_ARG_STRING, &given.seed,
         "Draw chances from this number (default: a random one)", "NUMBER"},
        {"ttl", 0, 0, G_OPTION_ARG_INT, &given.ttl,
         "To a group of multicast: the networks that a datagram may pass (default: 1)", "N"},
        {"no-loop", 0, 0, G_OPTION_ARG_NONE, &given.no_loop,
         "To a group of multicast: programs of this machine do not receive it", NULL},
        {"duration", 0, 0, G_OPTION_ARG_STRING, &given.duration,
         "Of a graph: end the sources after this time of the stream", "TIME"},
        {"log", 0, 0, G_OPTION_ARG_FILENAME, &given.log, "Write the account as JSON", "FILE"},
        {"log-packets", 0, 0, G_OPTION_ARG_FILENAME, &given.log_packets,
         "Write a line of JSON for each packet, as they are sent", "FILE"},
        {"stats", 0, 0, G_OPTION_ARG_STRING, &given.stats,
         "Format of the summary: text (default), json or none", "FORMAT"},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &given.quiet,
         "Print no summary and no progress, only errors and warnings", NULL},
        {NULL},
    };
    ct_command_catch_requests();
    ct_command_catch_interrupts();
    if (!ct_command_parse(&ct_command_send, entries, &argc, &argv, 1, G_MAXINT, error))
        return FALSE;
    Job job = {.format = ct_graph_read_format(given.stats, given.quiet, error),
               .quiet = given.quiet};
    if (!job.format || !read_how(&given, &job.how, error))
        return FALSE;
    job.how.packet = given.log_packets ? log_packet : NULL;
    job.how.user_data = &job;
    if (!is_graph(argv[1]))
        return send_files(&given, &job, argv + 1, error);
    return argc == 2
               ? send_graph(&given, &job, argv[1], error)
               : refuse(error, "wants one graph, or files, but is given %d arguments", argc - 1);
}

const CtCommand ct_command_send = {
    .name = "send",
    .arguments = "FILE…",
    .summary = "Send packets of files, or of a graph's sinks, to the network",
    .run = run,
};
